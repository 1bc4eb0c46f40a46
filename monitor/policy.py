"""What the monitor obeys: when its jobs run, what it compares, and how long it keeps what it found.

In:  configuration.  Out: frozen policies; an unknown key, time zone or cron expression refuses to load.
"""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from monitor.cron import Cron, zone_of

Days = Annotated[int, Field(ge=1, le=3_650)]
Rows = Annotated[int, Field(ge=1_000, le=1_000_000_000)]


class MonitorPolicy(BaseModel):
    """Times are cron expressions (minute hour day month weekday) in `timezone`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    timezone: str = "Asia/Shanghai"  # of every cron expression, and where a day begins and ends
    hourly: str = "5 * * * *"  # roll-up and hourly watch; Redis forgets a minute after 2 h 10 min
    retention: str = "30 3 * * *"  # old rows go
    heartbeat: str = "7 9 * * *"  # the daily word that alerts come through; robots are slow on the hour
    feedback: str = "20 0 * * *"  # complaints of the day that just ended
    abnormal_s: Annotated[float, Field(ge=60, le=86_400)] = 7_200.0  # how long an hour's finding marks its model
    tell_chance: Annotated[float, Field(gt=0, le=1)] = (
        0.0005  # a marked hour this unlikely is told at once, others when they stand an hour later; 1: all at once
    )
    trend_hours: Annotated[int, Field(ge=4, le=12)] = (
        6  # hours over which a rising share of repaired JSON is looked for
    )
    trend_min_repaired: Annotated[int, Field(ge=1, le=100_000)] = 20  # fewer repaired replies are no trend
    sample_probe_every_s: Annotated[float, Field(ge=0, le=3_600)] = (
        20.0  # a model that looks ill on too few replies is sent a prompt so often; 0: never
    )
    versions_sampled: Annotated[int, Field(ge=10, le=10_000)] = 500  # calls an hour and model read for a silent change

    @field_validator("timezone")
    @classmethod
    def _zone(cls, name: str) -> str:
        zone_of(name)
        return name

    @model_validator(mode="after")
    def _crons(self) -> Self:
        # Those that were given: a router, which runs no job, need not load the calendar for the defaults.
        for name in sorted(self.model_fields_set & {"hourly", "retention", "heartbeat", "feedback"}):
            try:
                self.cron(name)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return self

    def cron(self, name: str) -> Cron:
        """The expression of that field, ready to use."""
        return Cron(getattr(self, name), self.timezone)


class FeedbackPolicy(BaseModel):
    """What complaints lead to; how many people and what chance are the breaker's `complaint_users`, `complaint_chance`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trailing_days: Annotated[int, Field(ge=1, le=30)] = 7  # the model's own days that a day is compared with
    clean_days: Annotated[int, Field(ge=1, le=30)] = 3  # in a row; then a model leaves the anomaly list by itself
    samples: Annotated[int, Field(ge=1, le=50)] = 10  # complaints kept with an entry
    burst_s: Annotated[float, Field(ge=60, le=3_600)] = 600.0  # complaints filed within so long make a burst
    burst_asked_s: Annotated[float, Field(ge=600, le=86_400)] = 7_200.0  # about replies no older than that


class RetentionPolicy(BaseModel):
    """How long rows are kept, and how many at most: whichever comes first. Excerpts of replies go before their calls."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls_days: Days = 30  # SPEC, Keys and limits
    failed_days: Days = 14  # redacted excerpts of failed replies
    hours_days: Days = 62  # hourly counts: two months of hour-of-day profile
    days_days: Days = 730
    findings_days: Days = 180
    transitions_days: Days = 365
    feedback_days: Days = 90
    jobs_days: Days = 90
    alerts_days: Days = 180  # incidents that are over, their timeline, and what was sent
    calls_rows: Rows = 5_000_000  # about 2.5 GB; the oldest go first
    failed_rows: Rows = 200_000
