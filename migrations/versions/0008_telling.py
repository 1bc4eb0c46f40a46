"""Telling: silences, what each group was told, who sends a letter, what each robot said."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alert_group",
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_alert_group")),
    )
    op.create_table(
        "alert_robot",
        sa.Column("channel", sa.String(length=64), nullable=False),
        sa.Column("rest_until", sa.Double(), nullable=False),
        sa.Column("broken_at", sa.Double(), nullable=True),
        sa.Column("tried_at", sa.Double(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("channel", name=op.f("pk_alert_robot")),
    )
    op.create_table(
        "alert_try",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("letter_id", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("posts", sa.Integer(), nullable=False),
        sa.Column("result", sa.String(length=16), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_try")),
    )
    op.create_index(op.f("ix_alert_try_channel_at"), "alert_try", ["channel", "at"], unique=False)
    op.create_index(op.f("ix_alert_try_letter_id"), "alert_try", ["letter_id"], unique=False)
    op.create_table(
        "silence",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("subject", sa.String(length=256), nullable=False),
        sa.Column("scene", sa.String(length=128), nullable=False),
        sa.Column("author", sa.String(length=128), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("starts_at", sa.Double(), nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("ended_by", sa.String(length=128), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_silence")),
    )
    op.create_index(op.f("ix_silence_ends_at"), "silence", ["ends_at"], unique=False)
    op.add_column("alert_outbox", sa.Column("severity", sa.String(length=16), server_default="warn", nullable=False))
    op.add_column("alert_outbox", sa.Column("owner", sa.String(length=128), server_default="", nullable=False))
    op.add_column("alert_outbox", sa.Column("claimed_until", sa.Double(), server_default="0", nullable=False))
    # Letters of the version before have another body; what they told of is an incident now and is told as such.
    op.execute("UPDATE alert_outbox SET state = 'expired' WHERE state = 'pending'")


def downgrade() -> None:
    op.drop_column("alert_outbox", "claimed_until")
    op.drop_column("alert_outbox", "owner")
    op.drop_column("alert_outbox", "severity")
    op.drop_index(op.f("ix_silence_ends_at"), table_name="silence")
    op.drop_table("silence")
    op.drop_index(op.f("ix_alert_try_letter_id"), table_name="alert_try")
    op.drop_index(op.f("ix_alert_try_channel_at"), table_name="alert_try")
    op.drop_table("alert_try")
    op.drop_table("alert_robot")
    op.drop_table("alert_group")
