"""The tables, for SQLite and PostgreSQL alike. Moments are seconds since the epoch (UTC).

migrations/ creates them; a test compares the two. No column holds a key, a secret or the text of a healthy reply.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

call = Table(
    "call",
    metadata,
    Column("request_id", String(64), primary_key=True),
    Column("at", Double, nullable=False, index=True),
    Column("app", String(128), nullable=False),
    Column("route", String(128), nullable=False),
    Column("scene", String(128), nullable=False),
    Column("session", String(64), nullable=False),
    Column("served_model", String(128), nullable=False),
    Column("fallback", String(32), nullable=False),
    Column("status", Integer, nullable=False),
    Column("code", String(64), nullable=False),
    Column("verdict", String(32), nullable=False),
    Column("loop_class", String(32), nullable=False),
    Column("attempts", JSON, nullable=False),
    Column("metrics", JSON, nullable=False),
    Column("stream", Boolean, nullable=False),
    Column("elapsed_ms", Integer, nullable=False),
    Column("first_text_ms", Integer),
    Column("tokens_in", BigInteger, nullable=False),
    Column("tokens_out", BigInteger, nullable=False),
    Index(None, "served_model", "at"),
    Index(None, "app", "at"),
    Index(None, "session", "at"),
)

failed_reply = Table(
    "failed_reply",
    metadata,
    # Drawn when the row is handed over, so that a batch written twice stays one row.
    Column("id", String(32), primary_key=True),
    Column("request_id", String(64), nullable=False, index=True),
    Column("at", Double, nullable=False, index=True),
    Column("model", String(128), nullable=False),
    Column("scene", String(128), nullable=False),
    Column("fault", String(64), nullable=False),
    Column("loop_class", String(32), nullable=False),
    Column("rules", JSON, nullable=False),
    Column("metrics", JSON, nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("onset", Integer),
    Column("excerpt", Text, nullable=False),
    Column("marked", String(32), nullable=False, server_default=""),  # a person's word: "" | right | wrong
    Index(None, "model", "at"),
)

transition = Table(
    "transition",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("model", String(128), nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("at", Double, nullable=False, index=True),
    Column("from_level", String(16), nullable=False),
    Column("to_level", String(16), nullable=False),
    Column("reasons", JSON, nullable=False),
    Column("numbers", JSON, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("note", Text, nullable=False),
    Column("enforced", Boolean, nullable=False),
    UniqueConstraint("model", "epoch"),
)


def _rollup(name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("model", String(128), nullable=False),
        Column("scope", String(192), nullable=False),
        Column("starts_at", Double, nullable=False, index=True),
        Column("weight", BigInteger, nullable=False),
        Column("counts", JSON, nullable=False),
        Column("fingerprints", JSON, nullable=False),
        UniqueConstraint("model", "scope", "starts_at"),
    )


hour_count = _rollup("hour_count")
day_count = _rollup("day_count")

finding = Table(
    "finding",
    metadata,
    Column("id", String(256), primary_key=True),
    Column("at", Double, nullable=False, index=True),
    Column("kind", String(32), nullable=False),
    Column("model", String(128), nullable=False),
    Column("scene", String(128), nullable=False),
    Column("until", Double, nullable=False),
    Column("numbers", JSON, nullable=False),
    Column("facts", JSON, nullable=False),
    Index(None, "model", "at"),
)

model_version = Table(
    "model_version",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("model", String(128), nullable=False),
    Column("endpoint", Integer, nullable=False),
    Column("asked", String(256), nullable=False),
    Column("served", String(128), nullable=False),
    Column("fingerprint", String(128), nullable=False),
    Column("first_at", Double, nullable=False),
    Column("last_at", Double, nullable=False, index=True),
    UniqueConstraint("model", "endpoint", "asked", "served", "fingerprint"),
)

anomaly = Table(
    "anomaly",
    metadata,
    Column("id", String(256), primary_key=True),
    Column("model", String(128), nullable=False, index=True),
    Column("day", String(10), nullable=False),
    Column("last_bad_day", String(10), nullable=False),
    Column("listed_at", Double, nullable=False, index=True),
    Column("users", Integer, nullable=False),
    Column("complaints", Integer, nullable=False),
    Column("threshold", Integer, nullable=False),
    Column("expected", Double, nullable=False),
    Column("chance", Double, nullable=False),
    Column("clean_days", Integer, nullable=False),
    Column("closed_day", String(10), nullable=False),
    Column("samples", JSON, nullable=False),
    Column("left_at", Double, nullable=False),
    Column("left_why", Text, nullable=False),
    Column("left_by", String(128), nullable=False),
)

gray_release = Table(
    "gray_release",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("model", String(128), nullable=False),
    Column("candidate", String(128), nullable=False),
    Column("version", String(256), nullable=False),
    Column("stage", String(16), nullable=False),
    Column("started_at", Double, nullable=False, index=True),
    Column("epoch", BigInteger, nullable=False),
    Column("document", JSON, nullable=False),
    Index(None, "model", "started_at"),
)

admin_action = Table(
    "admin_action",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False, index=True),
    Column("actor", String(128), nullable=False),
    Column("role", String(16), nullable=False),
    Column("action", String(64), nullable=False),
    Column("target", String(256), nullable=False),
    Column("reason", Text, nullable=False),
    Column("details", JSON, nullable=False),
)

alert_outbox = Table(
    "alert_outbox",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("alert_id", String(256), nullable=False),
    Column("channel", String(64), nullable=False),
    Column("model", String(128), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("body", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("detail", Text, nullable=False, server_default=""),
    Column("created_at", Double, nullable=False),
    Column("due_at", Double, nullable=False),
    Column("sent_at", Double),
    Column("severity", String(16), nullable=False, server_default="warn"),
    # Who is sending it, and until when nobody else may.
    Column("owner", String(128), nullable=False, server_default=""),
    Column("claimed_until", Double, nullable=False, server_default="0"),
    UniqueConstraint("alert_id", "channel"),
    Index(None, "state", "due_at"),
)

app_key = Table(
    "app_key",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("app", String(128), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("hint", String(16), nullable=False),
    Column("routes", JSON),
    Column("per_minute", Integer),
    Column("tokens_per_minute", BigInteger),
    Column("max_concurrent", Integer),
    Column("support", Boolean, nullable=False, server_default=false()),
    Column("created_at", Double, nullable=False),
    Column("created_by", String(128), nullable=False),
    Column("revoked_at", Double),
)

admin_token = Table(
    "admin_token",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("role", String(16), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("hint", String(16), nullable=False),
    Column("created_at", Double, nullable=False),
    Column("created_by", String(128), nullable=False),
    Column("revoked_at", Double),
)

feedback = Table(
    "feedback",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("request_id", String(64), nullable=False, index=True),
    Column("model", String(128), nullable=False),  # that answered; empty: a phrase
    Column("app", String(128), nullable=False),  # whose request it was
    Column("user_hash", String(64), nullable=False),
    Column("at", Double, nullable=False, index=True),
    Column("asked_at", Double, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("source", String(16), nullable=False),
    Column("route", String(128), nullable=False),
    Column("scene", String(128), nullable=False),
    Column("note", Text, nullable=False),
    UniqueConstraint("app", "user_hash", "request_id"),
    Index(None, "model", "at"),
)

job_run = Table(
    "job_run",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("job", String(64), nullable=False),
    Column("slot", String(32), nullable=False),
    Column("owner", String(128), nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),  # known | asked | running | done | failed | missed
    Column("detail", Text, nullable=False, server_default=""),
    Column("started_at", Double, nullable=False, index=True),
    Column("ended_at", Double),
    Column("due_at", Double, nullable=False, server_default="0"),
    Column("tries", Integer, nullable=False, server_default="1"),
    Column("retry_at", Double),
    UniqueConstraint("job", "slot"),
    Index(None, "job", "due_at"),
)

incident = Table(
    "incident",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("key", String(640), nullable=False, index=True),
    # The key while it is open, else null: so one condition has at most one open incident.
    Column("open_key", String(700), unique=True),
    Column("kind", String(32), nullable=False),
    Column("subject", String(256), nullable=False),
    Column("model", String(128), nullable=False),
    Column("scene", String(128), nullable=False),
    Column("severity", String(16), nullable=False),
    Column("peak_severity", String(16), nullable=False),
    Column("stage", String(32), nullable=False),
    Column("opened_at", Double, nullable=False, index=True),
    Column("updated_at", Double, nullable=False),
    Column("facts", JSON, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("moment", Boolean, nullable=False),
    Column("resolved_at", Double),
    Column("peak_ratio", Double, nullable=False),
    Column("samples", BigInteger, nullable=False),
    Column("acked_at", Double),
    Column("acked_by", String(128), nullable=False),
    Column("told_revision", Integer, nullable=False),
    Column("told_at", Double),
    Column("told_stage", String(32), nullable=False),
    Column("told_severity", String(16)),
    Column("escalation", Integer, nullable=False),
    Column("escalated_at", Double),
    Column("settled", Boolean, nullable=False, index=True),
    Index(None, "model", "opened_at"),
)

incident_event = Table(
    "incident_event",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("incident_id", Integer, nullable=False, index=True),
    Column("at", Double, nullable=False),
    Column("event", String(24), nullable=False),
    Column("actor", String(128), nullable=False),
    Column("text", Text, nullable=False),
    Column("facts", JSON, nullable=False),
)

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

silence = Table(
    "silence",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    # An empty field matches everything; names may be globs.
    Column("kind", String(32), nullable=False),
    Column("model", String(128), nullable=False),
    Column("subject", String(256), nullable=False),
    Column("scene", String(128), nullable=False),
    Column("author", String(128), nullable=False),
    Column("reason", Text, nullable=False),
    Column("starts_at", Double, nullable=False),
    Column("ends_at", Double, nullable=False, index=True),
    Column("created_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("ended_by", String(128), nullable=False),
)

alert_group = Table(
    "alert_group",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("last_at", Double, nullable=False),
)

alert_robot = Table(
    "alert_robot",
    metadata,
    Column("channel", String(64), primary_key=True),
    Column("rest_until", Double, nullable=False),
    Column("broken_at", Double),
    Column("tried_at", Double, nullable=False),
    Column("detail", Text, nullable=False),
)

alert_try = Table(
    "alert_try",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("letter_id", Integer, nullable=False, index=True),
    Column("channel", String(64), nullable=False),
    Column("at", Double, nullable=False),
    Column("posts", Integer, nullable=False),
    Column("result", String(16), nullable=False),
    Column("detail", Text, nullable=False),
    Index(None, "channel", "at"),
)

phrase_version = Table(
    "phrase_version",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("language", String(16), nullable=False),
    Column("at", Double, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("reason", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "language", "id"),
)
