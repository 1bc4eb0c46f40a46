"""Incidents: what is told to people, from the first finding until it is over."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "incident",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("key", sa.String(length=640), nullable=False),
        sa.Column("open_key", sa.String(length=700), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=256), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("scene", sa.String(length=128), nullable=False),
        sa.Column("severity", sa.String(length=16), nullable=False),
        sa.Column("peak_severity", sa.String(length=16), nullable=False),
        sa.Column("stage", sa.String(length=32), nullable=False),
        sa.Column("opened_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("moment", sa.Boolean(), nullable=False),
        sa.Column("resolved_at", sa.Double(), nullable=True),
        sa.Column("peak_ratio", sa.Double(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("acked_at", sa.Double(), nullable=True),
        sa.Column("acked_by", sa.String(length=128), nullable=False),
        sa.Column("told_revision", sa.Integer(), nullable=False),
        sa.Column("told_at", sa.Double(), nullable=True),
        sa.Column("told_stage", sa.String(length=32), nullable=False),
        sa.Column("told_severity", sa.String(length=16), nullable=True),
        sa.Column("escalation", sa.Integer(), nullable=False),
        sa.Column("escalated_at", sa.Double(), nullable=True),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident")),
        sa.UniqueConstraint("open_key", name=op.f("uq_incident_open_key")),
    )
    op.create_index(op.f("ix_incident_key"), "incident", ["key"], unique=False)
    op.create_index(op.f("ix_incident_model_opened_at"), "incident", ["model", "opened_at"], unique=False)
    op.create_index(op.f("ix_incident_opened_at"), "incident", ["opened_at"], unique=False)
    op.create_index(op.f("ix_incident_settled"), "incident", ["settled"], unique=False)
    op.create_table(
        "incident_event",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("incident_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("event", sa.String(length=24), nullable=False),
        sa.Column("actor", sa.String(length=128), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incident_event")),
    )
    op.create_index(op.f("ix_incident_event_incident_id"), "incident_event", ["incident_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_incident_event_incident_id"), table_name="incident_event")
    op.drop_table("incident_event")
    op.drop_index(op.f("ix_incident_settled"), table_name="incident")
    op.drop_index(op.f("ix_incident_opened_at"), table_name="incident")
    op.drop_index(op.f("ix_incident_model_opened_at"), table_name="incident")
    op.drop_index(op.f("ix_incident_key"), table_name="incident")
    op.drop_table("incident")
