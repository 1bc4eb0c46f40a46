"""Tables of what is told to people: incidents, their events, notices in the outbox, robots, silences.

One with store/tables.py, which names them all.
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
)

from store.tables_base import metadata

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
