"""Evaluation runs, their results prompt by prompt, pinned baselines, and the daily reports."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "eval_baseline",
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("suite_version", sa.String(length=16), nullable=False),
        sa.Column("detector_version", sa.String(length=16), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("k", sa.Integer(), nullable=False),
        sa.Column("classes", sa.JSON(), nullable=False),
        sa.Column("json_items", sa.Integer(), nullable=False),
        sa.Column("json_valid", sa.Integer(), nullable=False),
        sa.Column("ill_prompts", sa.JSON(), nullable=False),
        sa.Column("served_model", sa.String(length=128), nullable=False),
        sa.Column("pinned_at", sa.Double(), nullable=False),
        sa.Column("pinned_by", sa.String(length=128), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("model", "suite_version", "detector_version", "version", name=op.f("pk_eval_baseline")),
    )
    op.create_table(
        "eval_result",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("model", sa.String(length=128), nullable=False),
        sa.Column("prompt_id", sa.String(length=64), nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("lure", sa.String(length=32), nullable=False),
        sa.Column("language", sa.String(length=8), nullable=False),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("ill", sa.Boolean(), nullable=False),
        sa.Column("fault", sa.String(length=64), nullable=False),
        sa.Column("loop_class", sa.String(length=32), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(length=16), nullable=False),
        sa.Column("parsed", sa.Boolean(), nullable=True),
        sa.Column("schema_ok", sa.Boolean(), nullable=True),
        sa.Column("content_ok", sa.Boolean(), nullable=True),
        sa.Column("why_not", sa.Text(), nullable=False),
        sa.Column("served_model", sa.String(length=128), nullable=False),
        sa.Column("finish_reason", sa.String(length=32), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("tokens_in", sa.BigInteger(), nullable=False),
        sa.Column("tokens_out", sa.BigInteger(), nullable=False),
        sa.Column("elapsed_s", sa.Double(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.Column("asked", sa.Text(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("reply_chars", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "model", "prompt_id", "round", name=op.f("pk_eval_result")),
    )
    op.create_index(op.f("ix_eval_result_at"), "eval_result", ["at"], unique=False)
    op.create_table(
        "eval_run",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("trigger", sa.String(length=16), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("suite", sa.String(length=48), nullable=False),
        sa.Column("suite_version", sa.String(length=16), nullable=False),
        sa.Column("detector_version", sa.String(length=16), nullable=False),
        sa.Column("prompts", sa.Integer(), nullable=False),
        sa.Column("sampled", sa.Boolean(), nullable=False),
        sa.Column("models", sa.JSON(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_eval_run")),
    )
    op.create_index(op.f("ix_eval_run_started_at"), "eval_run", ["started_at"], unique=False)
    op.create_table(
        "report",
        sa.Column("day", sa.String(length=32), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_report")),
    )
    op.create_index(op.f("ix_report_at"), "report", ["at"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_report_at"), table_name="report")
    op.drop_table("report")
    op.drop_index(op.f("ix_eval_run_started_at"), table_name="eval_run")
    op.drop_table("eval_run")
    op.drop_index(op.f("ix_eval_result_at"), table_name="eval_result")
    op.drop_table("eval_result")
    op.drop_table("eval_baseline")
