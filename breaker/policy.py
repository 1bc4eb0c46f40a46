"""Every number the breaker decides by.

In:  configuration.  Out: a frozen policy; unknown keys and contradictions refuse to load.
Source of the numbers: BREAKER.md, by section. Ratios are 0..1, `_s` seconds, `_min` whole minutes.
"""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from breaker.contradictions import contradictions

Ratio = Annotated[float, Field(gt=0, le=1)]
Sample = Annotated[int, Field(ge=1, le=1_000_000)]
Seconds = Annotated[float, Field(gt=0, le=7 * 86_400)]
Minutes = Annotated[int, Field(ge=1, le=130)]  # counts are kept 130 minutes
Chance = Annotated[float, Field(gt=0, lt=0.5)]


class BreakerPolicy(BaseModel):
    """Set and clear lines, minima, recovery and cadence; the defaults are BREAKER.md's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # L1: alert only
    warn_ratio: Ratio = 0.08  # the user's document
    warn_window_min: Minutes = 10
    warn_min_judged: Sample = 30  # below it the ratio is unknown
    warn_min_repeats: Sample = 5  # a handful of bad replies is no rate
    warn_clear_ratio: Ratio = 0.064  # clears lower than it sets, so a ratio on the line does not flap
    warn_clear_min: Minutes = 10

    # L2: share cut to a tenth
    reduce_ratio: Ratio = 0.15  # the user's document
    reduce_window_min: Minutes = 30
    reduce_min_judged: Sample = 50
    reduce_min_repeats: Sample = 8
    reduce_clear_ratio: Ratio = 0.12
    reduce_clear_evaluations: Sample = 15  # one-minute evaluations in a row, inside the dwell or after it
    reduce_dwell_s: Seconds = 1_800.0  # "30 min watched"
    reduced_share: Ratio = 0.10  # of the route's traffic; the user's document: 40 % -> 10 %

    # L3 by ratio: "25 % for 15 min on end"
    open_ratio: Ratio = 0.25
    rolling_window_min: Minutes = 5
    rolling_evaluations: Sample = 11  # 11 rolling 5-minute windows span 15 minutes
    open_window_min: Minutes = 15
    open_min_judged: Sample = 30
    open_min_repeats: Sample = 10
    rolling_empty_min: Minutes = 5  # more empty minutes than this break the streak
    low_traffic_requests: Sample = 30
    low_traffic_per_min: Annotated[float, Field(gt=0, le=60)] = (
        2.0  # under it the last requests are judged, not minutes
    )
    low_traffic_age_min: Minutes = 120
    low_traffic_min_repeats: Sample = 10

    # soft failures: empty, garbled, no JSON where JSON was asked for; of the judged replies, windows and minima as above
    soft_warn_ratio: Ratio = 0.10  # now and then every model answers nothing; one in ten is no accident
    soft_warn_clear_ratio: Ratio = 0.08
    soft_reduce_ratio: Ratio = 0.20
    soft_reduce_clear_ratio: Ratio = 0.16
    soft_open_ratio: Ratio = 0.50  # 15 minutes on end, or of the last requests: each is switched away from anyway
    json_warn_ratio: Ratio = 0.20  # of replies asked for as JSON, those without any: small models come near a tenth
    json_warn_clear_ratio: Ratio = 0.16

    # stuck streams (L3) and a fingerprint's burst (L2): on 5-second buckets
    stuck_window_s: Seconds = 120.0
    stuck_streams: Sample = 5
    stuck_sessions: Sample = 3  # one client in a loop of its own is not the model's illness
    stuck_stream_ratio: Ratio = 0.20
    burst_window_s: Seconds = 300.0
    burst_repeats: Sample = 10
    burst_bad_ratio: Ratio = 0.50
    burst_sessions: Sample = 3

    # trend (L2): Mann-Kendall over six buckets
    trend_bucket_min: Minutes = 5
    trend_buckets: Annotated[int, Field(ge=4, le=12)] = 6
    trend_score: Sample = 11  # of 15 pairs: 28 in 1,000 by chance, before the other three conditions
    trend_growth: Annotated[float, Field(ge=1, le=100)] = 1.5
    trend_dip: Ratio = 0.8  # a bucket below this part of the running maximum is a fall
    trend_min_repeats: Sample = 20
    trend_chance: Chance = (
        0.05  # that the later half is no worse than the earlier: without it a steady 2 % "rises" twice a day
    )

    # hard failures: a dead vendor is out within seconds
    hard_window_s: Seconds = 30.0
    hard_min_attempts: Sample = 10
    hard_open_ratio: Ratio = 0.50
    hard_reduce_ratio: Ratio = 0.20
    hard_in_a_row: Annotated[int, Field(ge=1, le=100)] = 5  # on one replica, with no success for `hard_quiet_s`
    hard_quiet_s: Seconds = 10.0

    # findings of others
    nightly_warn_growth: Annotated[float, Field(ge=1, le=100)] = 1.3
    nightly_warn_points: Ratio = 0.01  # +30 % of almost nothing is nothing
    nightly_warn_chance: Chance = 0.05
    nightly_open_growth: Annotated[float, Field(ge=1, le=100)] = 2.0
    nightly_open_points: Ratio = 0.03
    nightly_open_chance: Chance = 0.01
    scene_growth: Annotated[float, Field(ge=1, le=100)] = 1.4  # "+40 % on the previous period"
    hourly_growth: Annotated[float, Field(ge=1, le=100)] = 1.5
    period_min_repeats: Sample = 10
    period_chance: Chance = 0.01  # the naive rule cries wolf in 20 % of hours
    scene_count: Sample = 2  # scenes that must breach before it is the model
    scene_traffic_ratio: Ratio = 0.50  # or one that carries this part of its traffic
    complaint_users: Sample = 5
    complaint_chance: Chance = 0.001

    # flapping
    flap_changes: Annotated[int, Field(ge=2, le=20)] = 3
    flap_window_s: Seconds = 3_600.0
    flap_pin_s: Seconds = 3_600.0

    # coming back
    cooldown_s: Seconds = 600.0  # times the consecutive opens
    cooldown_cap_s: Seconds = 3_600.0
    cooldown_jitter: Annotated[float, Field(ge=0, lt=1)] = 0.10  # so that models do not all come back in one second
    hard_cooldown_s: Seconds = 15.0
    hard_cooldown_cap_s: Seconds = 300.0
    forgive_s: Seconds = 3_600.0  # healthy time that takes one open off the multiplier
    probe_budget: Annotated[int, Field(ge=3, le=1_000)] = 30  # permits for the whole fleet
    probe_lease: Annotated[int, Field(ge=1, le=100)] = 2  # permits one replica may hold unused
    probe_lease_s: Seconds = 60.0
    probe_good_ratio: Ratio = 0.05
    probe_bad_ratio: Ratio = 0.25
    probe_false_pass: Chance = 0.05
    probe_false_fail: Chance = 0.05
    probe_hard_good: Sample = 3  # in a row: enough after hard failures
    probe_timeout_s: Seconds = 600.0  # no verdict by then: open again
    shadow_probe_after_s: Seconds = (
        60.0  # copies of requests come after suite prompts; at once without a monitor heartbeat
    )
    live_probe_after_s: Seconds = 120.0  # live traffic is the last resort; at once without a monitor heartbeat

    # the fleet
    max_open_ratio: Ratio | None = None  # optional cap on the part of models open, computed after the change
    suspect_models: Sample = 3  # all of at least so many newly breaching: the detector is suspect
    suspect_large_fleet: Sample = 5  # from here on two thirds are enough
    suspect_window_s: Seconds = 300.0
    suspect_hold_s: Seconds = 600.0

    # backups take over in steps
    takeover_step_ratio: Ratio = 0.25  # of the route's traffic: so much more a candidate may take with each step
    takeover_step_s: Annotated[float, Field(ge=0, le=3_600)] = 15.0  # 0: all at once

    # cadence
    flush_s: Seconds = 0.2
    poll_s: Seconds = 1.0
    fast_s: Seconds = 1.0
    full_s: Seconds = 15.0
    lease_s: Seconds = 5.0
    grace_s: Annotated[float, Field(ge=0, le=30)] = 2.0  # late flushes of the minute that just ended
    local_level_s: Seconds = 900.0  # how long a level decided while the store is gone stays in force

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        """Every contradiction at once; `found` leads to each by its field."""
        if found := contradictions(self):
            parts = [(one.fields, one.told(self)) for one in found]
            told = "; ".join(f"{fields[0]}: {words}" for fields, words in parts)
            # Braces of a value would be taken for places of the template.
            raise PydanticCustomError("contradictions", "{told}", {"told": told, "found": parts})
        return self
