"""Hours and days say which versions of the detector judged their replies; null in rows of older releases."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("hour_count", "day_count"):
        op.add_column(table, sa.Column("detectors", sa.JSON(), nullable=True))


def downgrade() -> None:
    for table in ("hour_count", "day_count"):
        op.drop_column(table, "detectors")
