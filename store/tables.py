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
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from store.tables_alerts import alert_group, alert_outbox, alert_robot, alert_try, incident, incident_event, silence
from store.tables_base import metadata
from store.tables_evals import eval_baseline, eval_result, eval_run, report

__all__ = [
    "admin_action",
    "admin_token",
    "alert_group",
    "alert_outbox",
    "alert_robot",
    "alert_try",
    "anomaly",
    "app_key",
    "call",
    "day_count",
    "eval_baseline",
    "eval_result",
    "eval_run",
    "failed_reply",
    "feedback",
    "finding",
    "gray_release",
    "hour_count",
    "incident",
    "incident_event",
    "job_run",
    "metadata",
    "model_version",
    "phrase_version",
    "report",
    "silence",
    "transition",
]


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
        Column("detectors", JSON(none_as_null=True)),
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
