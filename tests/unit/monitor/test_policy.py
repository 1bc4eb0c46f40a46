"""The calendar of the monitor: what is given is checked at once, and what is not is right."""

import pytest
from pydantic import ValidationError

from monitor.nightly.policy import NightlyPolicy
from monitor.policy import MonitorPolicy

JOBS = ("hourly", "retention", "heartbeat", "feedback")


@pytest.mark.parametrize("name", JOBS)
def test_the_time_of_a_job_is_a_cron_expression_by_default_too(name: str) -> None:
    given = {name: MonitorPolicy.model_fields[name].default}
    assert MonitorPolicy.model_validate(given).cron(name).next_after(0.0) > 0.0


@pytest.mark.parametrize("name", ["evaluate", "report"])
def test_the_time_of_the_night_is_a_cron_expression_by_default_too(name: str) -> None:
    NightlyPolicy.model_validate({name: NightlyPolicy.model_fields[name].default})


@pytest.mark.parametrize("name", JOBS)
def test_a_wrong_expression_is_refused_by_the_name_of_its_field(name: str) -> None:
    with pytest.raises(ValidationError, match=f"{name}: 'at noon' has 2 fields"):
        MonitorPolicy.model_validate({name: "at noon"})


@pytest.mark.parametrize("name", ["evaluate", "report"])
def test_a_wrong_expression_of_the_night_is_refused_by_the_name_of_its_field(name: str) -> None:
    with pytest.raises(ValidationError, match=f"{name}: 'at noon' has 2 fields"):
        NightlyPolicy.model_validate({name: "at noon"})
