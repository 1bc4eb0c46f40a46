"""Hourly and daily counts, what the hourly watch finds, and the versions of vendors' models."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("hour_count", "day_count"):
        op.create_table(
            name,
            sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
            sa.Column("model", sa.String(length=128), nullable=False),
            sa.Column("scope", sa.String(length=192), nullable=False),
            sa.Column("starts_at", sa.Double(), nullable=False),
            sa.Column("weight", sa.BigInteger(), nullable=False),
            sa.Column("counts", sa.JSON(), nullable=False),
            sa.Column("fingerprints", sa.JSON(), nullable=False),
            sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{name}")),
            sa.UniqueConstraint("model", "scope", "starts_at", name=op.f(f"uq_{name}_model_scope_starts_at")),
        )
        op.create_index(op.f(f"ix_{name}_starts_at"), name, ["starts_at"], unique=False)
    op.create_table(
        "finding",
        sa.Column("id", sa.String(length=256), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("scene", sa.String(length=128), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("numbers", sa.JSON(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_finding")),
    )
    op.create_index(op.f("ix_finding_at"), "finding", ["at"], unique=False)
    op.create_index(op.f("ix_finding_model_at"), "finding", ["model", "at"], unique=False)
    place = ["model", "endpoint", "asked", "served", "fingerprint"]
    op.create_table(
        "model_version",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("endpoint", sa.Integer(), nullable=False),
        sa.Column("asked", sa.String(length=256), nullable=False),
        sa.Column("served", sa.String(length=128), nullable=False),
        sa.Column("fingerprint", sa.String(length=128), nullable=False),
        sa.Column("first_at", sa.Double(), nullable=False),
        sa.Column("last_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_version")),
        sa.UniqueConstraint(*place, name=op.f("uq_model_version_" + "_".join(place))),
    )
    op.create_index(op.f("ix_model_version_last_at"), "model_version", ["last_at"], unique=False)


def downgrade() -> None:
    for name in ("model_version", "finding", "day_count", "hour_count"):
        op.drop_table(name)
