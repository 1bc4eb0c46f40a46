"""Tables of what models were found to be worth: nightly runs, their results, baselines, reports.

One with store/tables.py, which names them all.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Integer,
    String,
    Table,
    Text,
)

from store.tables_base import metadata

eval_run = Table(
    "eval_run",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("trigger", String(16), nullable=False),
    Column("started_at", Double, nullable=False, index=True),
    Column("suite", String(48), nullable=False),
    Column("suite_version", String(16), nullable=False),
    Column("detector_version", String(16), nullable=False),
    Column("prompts", Integer, nullable=False),
    Column("sampled", Boolean, nullable=False),
    Column("models", JSON, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("state", String(16), nullable=False),  # running | done | failed
    Column("ended_at", Double),
    Column("detail", Text, nullable=False, server_default=""),
)

eval_result = Table(
    "eval_result",
    metadata,
    # What was asked of whom, and in which round: a run that is taken up again writes nothing twice.
    Column("run_id", String(64), primary_key=True),
    Column("model", String(128), primary_key=True),
    Column("prompt_id", String(64), primary_key=True),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False, index=True),
    Column("lure", String(32), nullable=False),
    Column("language", String(8), nullable=False),
    Column("counted", Boolean, nullable=False),
    Column("ill", Boolean, nullable=False),
    Column("fault", String(64), nullable=False),
    Column("loop_class", String(32), nullable=False),
    Column("rules", JSON, nullable=False),
    Column("metrics", JSON, nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("step", String(16), nullable=False),
    Column("parsed", Boolean),
    Column("schema_ok", Boolean),
    Column("content_ok", Boolean),
    Column("why_not", Text, nullable=False),
    Column("served_model", String(128), nullable=False),
    Column("finish_reason", String(32), nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("tokens_in", BigInteger, nullable=False),
    Column("tokens_out", BigInteger, nullable=False),
    Column("elapsed_s", Double, nullable=False),
    Column("cost", Double, nullable=False),
    Column("asked", Text, nullable=False),  # our own prompt, of replies whose text is kept
    Column("reply", Text, nullable=False),
    Column("reply_chars", Integer, nullable=False),
)

eval_baseline = Table(
    "eval_baseline",
    metadata,
    Column("model", String(128), primary_key=True),
    Column("suite_version", String(16), primary_key=True),
    Column("detector_version", String(16), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("run_id", String(64), nullable=False),
    Column("n", Integer, nullable=False),
    Column("k", Integer, nullable=False),
    Column("classes", JSON, nullable=False),
    Column("json_items", Integer, nullable=False),
    Column("json_valid", Integer, nullable=False),
    Column("ill_prompts", JSON, nullable=False),
    Column("served_model", String(128), nullable=False),
    Column("pinned_at", Double, nullable=False),
    Column("pinned_by", String(128), nullable=False),
    Column("note", Text, nullable=False),
)

report = Table(
    "report",
    metadata,
    Column("day", String(32), primary_key=True),
    Column("at", Double, nullable=False, index=True),
    Column("run_id", String(64), nullable=False),
    Column("document", JSON, nullable=False),
)
