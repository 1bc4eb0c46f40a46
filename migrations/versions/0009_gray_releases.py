"""Gray releases, for their reports and to put back what Redis lost."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "gray_release",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("candidate", sa.String(length=128), nullable=False),
        sa.Column("version", sa.String(length=256), nullable=False),
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gray_release")),
    )
    op.create_index(op.f("ix_gray_release_started_at"), "gray_release", ["started_at"], unique=False)
    op.create_index(op.f("ix_gray_release_model_started_at"), "gray_release", ["model", "started_at"], unique=False)


def downgrade() -> None:
    op.drop_table("gray_release")
