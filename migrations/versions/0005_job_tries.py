"""Job slots know when they were due, how often they were begun and when they are tried again."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job_run", sa.Column("due_at", sa.Double(), server_default="0", nullable=False))
    op.add_column("job_run", sa.Column("tries", sa.Integer(), server_default="1", nullable=False))
    op.add_column("job_run", sa.Column("retry_at", sa.Double(), nullable=True))
    op.create_index(op.f("ix_job_run_job_due_at"), "job_run", ["job", "due_at"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_job_run_job_due_at"), table_name="job_run")
    for name in ("retry_at", "tries", "due_at"):
        op.drop_column("job_run", name)
