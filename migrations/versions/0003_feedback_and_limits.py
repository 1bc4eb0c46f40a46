"""What people say of replies; limits of app keys; admin tokens with roles."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "feedback",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("app", sa.String(length=128), nullable=False),
        sa.Column("user_hash", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("asked_at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("route", sa.String(length=128), nullable=False),
        sa.Column("scene", sa.String(length=128), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feedback")),
        sa.UniqueConstraint("app", "user_hash", "request_id", name=op.f("uq_feedback_app_user_hash_request_id")),
    )
    op.create_index(op.f("ix_feedback_at"), "feedback", ["at"], unique=False)
    op.create_index(op.f("ix_feedback_model_at"), "feedback", ["model", "at"], unique=False)
    op.create_index(op.f("ix_feedback_request_id"), "feedback", ["request_id"], unique=False)
    op.create_table(
        "admin_token",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("hint", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.String(length=128), nullable=False),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_admin_token")),
        sa.UniqueConstraint("hash", name=op.f("uq_admin_token_hash")),
    )
    op.add_column("app_key", sa.Column("tokens_per_minute", sa.BigInteger(), nullable=True))
    op.add_column("app_key", sa.Column("max_concurrent", sa.Integer(), nullable=True))
    op.add_column("app_key", sa.Column("support", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index(op.f("ix_call_session_at"), "call", ["session", "at"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_call_session_at"), table_name="call")
    with op.batch_alter_table("app_key") as table:
        for name in ("support", "max_concurrent", "tokens_per_minute"):
            table.drop_column(name)
    op.drop_table("admin_token")
    op.drop_index(op.f("ix_feedback_request_id"), table_name="feedback")
    op.drop_index(op.f("ix_feedback_model_at"), table_name="feedback")
    op.drop_index(op.f("ix_feedback_at"), table_name="feedback")
    op.drop_table("feedback")
