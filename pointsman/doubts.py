"""What would start and is likely not meant: told by `pointsman check` and at the start, and nothing is stopped.

In:  settings that are right by themselves, and where each value stands in the file.  Out: what to look at, with its line.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path as File

from pointsman.addresses import found, is_open, parted, why_not
from pointsman.settings import RouteSettings, Settings
from pointsman.yaml_lines import Lines, Mistake, Path, dotted, read

Told = tuple[Path, str]


def doubts_in(file: File, settings: Settings, environment: Mapping[str, str] = os.environ) -> list[Mistake]:
    """Those of `settings`, which `file` holds."""
    _, lines = read(file.read_text(encoding="utf-8-sig"), environment, str(file), [])
    return doubts(settings, lines)


def doubts(settings: Settings, lines: Lines) -> list[Mistake]:
    """In the order of the file."""
    told = [*_addresses(settings), *_waits(settings), *_samples(settings), *_attempts(settings), *_kept(settings)]
    found = (Mistake(line=lines.of(path), where=dotted(path), what=what) for path, what in told)
    return sorted(found, key=lambda one: one.line)


def _addresses(settings: Settings) -> Iterator[Told]:
    host, _ = settings.address(admin=True)
    if is_open(host):
        yield (
            ("admin_listen",),
            f"{host} opens the operators' pages, the admin JSON and /metrics to whoever reaches this machine, and only tokens "
            "and logins keep people out: name 127.0.0.1 or an inner address, unless a firewall or a container stands before it",
        )
    for key in ("listen", "admin_listen"):
        try:
            found(*parted(getattr(settings, key)))
        except OSError as error:
            yield (key,), why_not(error)


def _waits(settings: Settings) -> Iterator[Told]:
    for name, route in settings.routes.items():
        yield from ((("routes", name, *path), what) for path, what in _route_waits(route))


def _route_waits(route: RouteSettings) -> Iterator[Told]:
    waits, deadline_s = route.timeouts, route.deadline_s
    if "total_s" in waits.model_fields_set and waits.total_s > deadline_s:
        what = f"{waits.total_s:g} is never reached: the route's deadline_s of {deadline_s:g} ends the request before"
        yield ("timeouts", "total_s"), what
    if waits.first_text_s >= deadline_s and len(route.candidates) > 1:
        what = (
            f"{waits.first_text_s:g} is not below the route's deadline_s of {deadline_s:g}: "
            "a silent model uses up the whole time, and no other is asked"
        )
        yield ("timeouts", "first_text_s"), what


def _samples(settings: Settings) -> Iterator[Told]:
    """Probes that come too seldom to make up the sample they are sent for."""
    every_s, breaker = settings.monitor.sample_probe_every_s, settings.breaker
    window_s = breaker.low_traffic_age_min * 60
    if every_s * breaker.low_traffic_requests > window_s:
        what = (
            f"a probe every {every_s:g} s makes {window_s // every_s:.0f} in the {breaker.low_traffic_age_min} minutes that "
            f"breaker.low_traffic_age_min looks back, and {breaker.low_traffic_requests} are needed: a model without "
            f"traffic stays unknown; at most {window_s / breaker.low_traffic_requests:g} s would do"
        )
        yield ("monitor", "sample_probe_every_s"), what


def _attempts(settings: Settings) -> Iterator[Told]:
    router = settings.router
    if "max_switches" in router.model_fields_set and router.max_switches >= router.max_attempts:
        what = f"{router.max_switches} is never reached: max_attempts of {router.max_attempts} ends the request before"
        yield ("router", "max_switches"), what


def _kept(settings: Settings) -> Iterator[Told]:
    retention = settings.retention
    if retention.failed_days > retention.calls_days:
        what = f"{retention.failed_days} days are longer than calls_days of {retention.calls_days}: excerpts whose request is gone"
        yield ("retention", "failed_days"), what
