"""Phrases that operators saved: every version of every language, the newest in force."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "phrase_version",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("language", sa.String(length=16), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phrase_version")),
    )
    op.create_index(op.f("ix_phrase_version_language_id"), "phrase_version", ["language", "id"], unique=False)


def downgrade() -> None:
    op.drop_table("phrase_version")
