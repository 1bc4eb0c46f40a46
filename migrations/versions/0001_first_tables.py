"""The first tables: calls, failed replies, transitions, admin actions, alerts to send, app keys."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "admin_action",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("target", sa.String(length=256), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_admin_action")),
    )
    op.create_index(op.f("ix_admin_action_at"), "admin_action", ["at"], unique=False)
    op.create_table(
        "alert_outbox",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("alert_id", sa.String(length=256), nullable=False),
        sa.Column("channel", sa.String(length=64), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("sent_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_outbox")),
        sa.UniqueConstraint("alert_id", "channel", name=op.f("uq_alert_outbox_alert_id_channel")),
    )
    op.create_index(op.f("ix_alert_outbox_state_due_at"), "alert_outbox", ["state", "due_at"], unique=False)
    op.create_table(
        "app_key",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("app", sa.String(length=128), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("hint", sa.String(length=16), nullable=False),
        sa.Column("routes", sa.JSON(), nullable=True),
        sa.Column("per_minute", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.String(length=128), nullable=False),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_app_key")),
        sa.UniqueConstraint("hash", name=op.f("uq_app_key_hash")),
    )
    op.create_table(
        "call",
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("app", sa.String(length=128), nullable=False),
        sa.Column("route", sa.String(length=128), nullable=False),
        sa.Column("scene", sa.String(length=128), nullable=False),
        sa.Column("session", sa.String(length=64), nullable=False),
        sa.Column("served_model", sa.String(length=128), nullable=False),
        sa.Column("fallback", sa.String(length=32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("verdict", sa.String(length=32), nullable=False),
        sa.Column("loop_class", sa.String(length=32), nullable=False),
        sa.Column("attempts", sa.JSON(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("stream", sa.Boolean(), nullable=False),
        sa.Column("elapsed_ms", sa.Integer(), nullable=False),
        sa.Column("first_text_ms", sa.Integer(), nullable=True),
        sa.Column("tokens_in", sa.BigInteger(), nullable=False),
        sa.Column("tokens_out", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("request_id", name=op.f("pk_call")),
    )
    op.create_index(op.f("ix_call_app_at"), "call", ["app", "at"], unique=False)
    op.create_index(op.f("ix_call_at"), "call", ["at"], unique=False)
    op.create_index(op.f("ix_call_served_model_at"), "call", ["served_model", "at"], unique=False)
    op.create_table(
        "failed_reply",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("scene", sa.String(length=128), nullable=False),
        sa.Column("fault", sa.String(length=64), nullable=False),
        sa.Column("loop_class", sa.String(length=32), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("onset", sa.Integer(), nullable=True),
        sa.Column("excerpt", sa.Text(), nullable=False),
        sa.Column("marked", sa.String(length=32), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_failed_reply")),
    )
    op.create_index(op.f("ix_failed_reply_at"), "failed_reply", ["at"], unique=False)
    op.create_index(op.f("ix_failed_reply_model_at"), "failed_reply", ["model", "at"], unique=False)
    op.create_index(op.f("ix_failed_reply_request_id"), "failed_reply", ["request_id"], unique=False)
    op.create_table(
        "transition",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("from_level", sa.String(length=16), nullable=False),
        sa.Column("to_level", sa.String(length=16), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("numbers", sa.JSON(), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("enforced", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transition")),
        sa.UniqueConstraint("model", "epoch", name=op.f("uq_transition_model_epoch")),
    )
    op.create_index(op.f("ix_transition_at"), "transition", ["at"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_transition_at"), table_name="transition")
    op.drop_table("transition")
    op.drop_index(op.f("ix_failed_reply_request_id"), table_name="failed_reply")
    op.drop_index(op.f("ix_failed_reply_model_at"), table_name="failed_reply")
    op.drop_index(op.f("ix_failed_reply_at"), table_name="failed_reply")
    op.drop_table("failed_reply")
    op.drop_index(op.f("ix_call_served_model_at"), table_name="call")
    op.drop_index(op.f("ix_call_at"), table_name="call")
    op.drop_index(op.f("ix_call_app_at"), table_name="call")
    op.drop_table("call")
    op.drop_table("app_key")
    op.drop_index(op.f("ix_alert_outbox_state_due_at"), table_name="alert_outbox")
    op.drop_table("alert_outbox")
    op.drop_index(op.f("ix_admin_action_at"), table_name="admin_action")
    op.drop_table("admin_action")
