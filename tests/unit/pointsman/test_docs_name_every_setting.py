"""docs/settings.md and docs/operating.md are true: every key with its default, every metric by name."""

import re
from enum import Enum
from pathlib import Path

import pytest
from pydantic import BaseModel

from breaker.policy import BreakerPolicy
from detector.policy import GatePolicy
from monitor.alerts.policy import AlertPolicy
from monitor.gray import GrayPolicy
from monitor.nightly.policy import NightlyPolicy, Price, VendorLimits
from monitor.policy import FeedbackPolicy, MonitorPolicy, RetentionPolicy
from pointsman import settings
from pointsman.network import NetworkSettings
from pointsman.settings_console import ConsoleSettings, OidcSettings
from router.metrics import RouterMetrics
from router.policy import RouterPolicy

DOCS = Path(__file__).parents[3] / "docs"
PARTS = {
    "Top level": settings.Settings,
    "`models.NAME`": settings.ModelSettings,
    "`models.NAME.price`": settings.PriceSettings,
    "`models.NAME.endpoints[]`": settings.EndpointSettings,
    "`routes.NAME`": settings.RouteSettings,
    "`profiles.NAME`": settings.ProfileSettings,
    "`routes.NAME.candidates[]`": settings.CandidateSettings,
    "`routes.NAME.timeouts`": settings.TimeoutSettings,
    "`alerts`": settings.AlertSettings,
    "`alerts.channels.NAME`": settings.ChannelSettings,
    "`console`": ConsoleSettings,
    "`console.oidc`": OidcSettings,
    "`alerts.routes[]`": settings.AlertRouteSettings,
    "`alerts.maintenance[]`": settings.MaintenanceSettings,
    "`alerts.policy`": AlertPolicy,
    "`network`": NetworkSettings,
    "`router`": RouterPolicy,
    "`breaker`": BreakerPolicy,
    "`gate`": GatePolicy,
    "`monitor`": MonitorPolicy,
    "`retention`": RetentionPolicy,
    "`gray`": GrayPolicy,
    "`feedback`": FeedbackPolicy,
    "`nightly`": NightlyPolicy,
    "`nightly.limits`": VendorLimits,
    "`nightly.prices.NAME`": Price,
}


def rows(title: str) -> dict[str, str]:
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))


@pytest.mark.parametrize("title", PARTS)
def test_every_setting_stands_in_the_docs_and_no_other(title: str) -> None:
    assert set(rows(title)) == set(PARTS[title].model_fields)


@pytest.mark.parametrize("title", PARTS)
def test_every_plain_default_in_the_docs_is_the_one_in_force(title: str) -> None:
    told = rows(title)
    part: type[BaseModel] = PARTS[title]
    for name, field in part.model_fields.items():
        default = field.default.value if isinstance(field.default, Enum) else field.default
        if isinstance(default, (int, float, str)) and not field.is_required():
            assert told[name] == f"`{default}`", name


def test_every_metric_stands_in_the_operating_guide() -> None:
    text = (DOCS / "operating.md").read_text(encoding="utf-8")
    names = {family.name for family in RouterMetrics().registry.collect()}
    assert not [name for name in names if f"`{name}" not in text]


def test_no_setting_is_left_without_a_word_of_what_it_does() -> None:
    lines = (DOCS / "settings.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if re.match(r"^\| `\w+` \|", line) and line.rstrip().endswith("|  |")] == []
