"""Tries an operator's alert templates before they are needed: on a made-up alert of every kind."""

from collections.abc import Sequence

from base.clock import SystemClock
from monitor.alerts.render import Renderer
from monitor.alerts.templates import Templates
from monitor.alerts.trial import trial_body
from pointsman.settings import Settings


def template_problems(settings: Settings) -> Sequence[str]:
    """What is wrong, file by file; nothing where there are no templates of one's own."""
    if settings.alerts.templates is None:
        return ()
    clock = SystemClock()
    templates = Templates(settings.alerts.templates, settings.monitor.timezone)
    renderer = Renderer(templates, clock, settings.breaker.model_dump())
    body = trial_body("trial", "check", clock.now_s())
    return list(templates.problems(renderer.values(body, settings.alerts.language)))
