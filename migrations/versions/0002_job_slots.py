"""The slots of the clock jobs: each runs once in the fleet."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "job_run",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("job", sa.String(length=64), nullable=False),
        sa.Column("slot", sa.String(length=32), nullable=False),
        sa.Column("owner", sa.String(length=128), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_run")),
        sa.UniqueConstraint("job", "slot", name=op.f("uq_job_run_job_slot")),
    )
    op.create_index(op.f("ix_job_run_started_at"), "job_run", ["started_at"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_job_run_started_at"), table_name="job_run")
    op.drop_table("job_run")
