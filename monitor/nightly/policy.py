"""What the nightly evaluation may use: when, which models, how fast, for how much.

In:  the `nightly` part of the configuration.  Out: frozen policies; unknown keys and contradictions refuse to load.
Money is in one currency of the operator's choice; prices are per million tokens, as vendors quote them.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from monitor.cron import Cron

FLOODED = frozenset({0, 30})
"""Minutes of the hour at which everybody's robots speak (ALERTS.md)."""
Money = Annotated[float, Field(gt=0, le=1e9)]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeptReplies(StrEnum):
    """Which replies of the suite are kept as text. The prompts are our own, so no user's words are in them."""

    DEGENERATE = "degenerate"
    ALL = "all"
    NONE = "none"


class Price(Part):
    """Per million tokens."""

    input: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    output: Annotated[float, Field(ge=0, le=1e6)] = 0.0

    def of(self, tokens_in: float, tokens_out: float) -> float:
        return (self.input * tokens_in + self.output * tokens_out) / 1e6


class VendorLimits(Part):
    """What one vendor is asked for in one run."""

    concurrency: Annotated[int, Field(ge=1, le=64)] = 4  # calls at once: live traffic shares the vendor's quota
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 60
    max_tokens: Annotated[int, Field(ge=1_000)] = 2_000_000  # four models of 500 prompts at 500 tokens take 1,000,000
    max_cost: Money | None = None  # only counted for models with a price


class NightlyPolicy(Part):
    """The nightly evaluation and its daily report."""

    enabled: bool = True  # the command line runs the suite also when this is off
    evaluate: str = "0 3 * * *"  # cron, in monitor.timezone: when users sleep and quotas are free
    report: str = "47 8 * * *"  # cron; group robots are flooded at the full and half hour
    suites: tuple[str, ...] = ()  # files; none: the suite that travels with the package
    models: tuple[str, ...] = ()  # none: all
    limits: VendorLimits = VendorLimits()
    vendors: dict[str, VendorLimits] = Field(default_factory=dict)  # where a vendor's limits differ
    prices: dict[str, Price] = Field(default_factory=dict)  # by model
    currency: Annotated[str, Field(min_length=1, max_length=8)] = "CNY"
    parameters: dict[str, Any] = Field(default_factory=dict)  # request fields laid over each call, such as temperature
    timeout_s: Annotated[float, Field(gt=0, le=3_600)] = 180.0  # of one reply: long texts on slow models
    keep_replies: KeptReplies = KeptReplies.ALL
    min_judged: Annotated[int, Field(ge=1)] = 400  # fewer judged replies are compared with no baseline
    kept_days: Annotated[int, Field(ge=1, le=3_650)] = 90  # runs and their answers; baselines and reports stay
    replies_days: Annotated[int, Field(ge=1, le=3_650)] = 14  # text of answers that did not repeat: 1 MB a model-night

    @model_validator(mode="after")
    def _crons(self) -> Self:
        # Those that were given: a router, which runs no job, need not load the calendar for the defaults.
        for name in sorted(self.model_fields_set & {"evaluate", "report"}):
            try:
                Cron(getattr(self, name), "UTC")
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        if FLOODED & set(_minutes(self.report)):
            raise ValueError("report: not on the full or half hour, when group robots are flooded: 47 8 * * * is fine")
        return self

    def limits_of(self, vendor: str) -> VendorLimits:
        return self.vendors.get(vendor, self.limits)

    def price_of(self, model: str) -> Price | None:
        return self.prices.get(model)


def _minutes(cron: str) -> Iterator[int]:
    """The minutes of the hour at which a cron expression that is known to be sound comes due."""
    for part in cron.split()[0].split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        first = 0 if span == "*" else int(low)
        last = 59 if span == "*" or (step and not high) else int(high or low)
        yield from range(first, last + 1, int(step or 1))
