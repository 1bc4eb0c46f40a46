"""The anomaly list: models that people complain of more than chance explains."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "anomaly",
        sa.Column("id", sa.String(length=256), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("last_bad_day", sa.String(length=10), nullable=False),
        sa.Column("listed_at", sa.Double(), nullable=False),
        sa.Column("users", sa.Integer(), nullable=False),
        sa.Column("complaints", sa.Integer(), nullable=False),
        sa.Column("threshold", sa.Integer(), nullable=False),
        sa.Column("expected", sa.Double(), nullable=False),
        sa.Column("chance", sa.Double(), nullable=False),
        sa.Column("clean_days", sa.Integer(), nullable=False),
        sa.Column("closed_day", sa.String(length=10), nullable=False),
        sa.Column("samples", sa.JSON(), nullable=False),
        sa.Column("left_at", sa.Double(), nullable=False),
        sa.Column("left_why", sa.Text(), nullable=False),
        sa.Column("left_by", sa.String(length=128), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_anomaly")),
    )
    op.create_index(op.f("ix_anomaly_model"), "anomaly", ["model"], unique=False)
    op.create_index(op.f("ix_anomaly_listed_at"), "anomaly", ["listed_at"], unique=False)


def downgrade() -> None:
    op.drop_table("anomaly")
