"""The configuration file: what is read, and how a mistake is told."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from detector.profile import PROFILES, Profile
from pointsman.settings import SettingsError, parse
from pointsman.yaml_lines import read
from router.topology import WhenDown

GOOD = """\
models:
  a:
    endpoints:
      - {base_url: "http://127.0.0.1:1/v1/", model: m, api_key: "${KEY}"}
  b:
    endpoints:
      - {base_url: "http://127.0.0.1:2/v1", model: m}
routes:
  chat:
    when_down: error
    candidates:
      - {model: a, weight: 3}
      - {model: b, priority: 1}
"""


def mistakes(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        parse(text, {"KEY": "s3cret"})
    return str(caught.value)


def test_a_good_file_becomes_models_and_routes() -> None:
    topology = parse(GOOD, {"KEY": "s3cret"}).topology()
    assert topology.models["a"].endpoints[0].base_url == "http://127.0.0.1:1/v1"
    assert topology.models["a"].endpoints[0].api_key == "s3cret"
    assert [c.priority for c in topology.routes["chat"].candidates] == [0, 1]
    assert topology.routes["chat"].when_down is WhenDown.ERROR


def test_secrets_are_never_printed() -> None:
    settings = parse(GOOD + "redis_url: redis://u:s3cret@h/0\n", {"KEY": "s3cret"})
    assert "s3cret" not in repr(settings)
    assert "s3cret" not in repr(settings.topology())


def test_it_listens_on_this_machine_only_unless_told() -> None:
    assert parse(GOOD, {"KEY": ""}).address() == ("127.0.0.1", 8080)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(GOOD.replace("when_down", "when_dwon"), "line 10: routes.chat.when_dwon: unknown key; did you mean 'when_down'?", id="unknown key"),
        pytest.param(GOOD.replace("base_url: \"http://127.0.0.1:2", "base_uri: \"http://127.0.0.1:2"), "line 7: models.b.endpoints[0].base_uri: unknown key; did you mean 'base_url'?", id="unknown key in a list"),
        pytest.param(GOOD + "breaker: {warn_rato: 0.1}\n", "line 14: breaker.warn_rato: unknown key; did you mean 'warn_ratio'?", id="a room's own policy"),
        pytest.param(GOOD + "breaker:\n  warn_ratio: 0.5\n", "line 15: breaker.warn_ratio: must hold warn_ratio <= reduce_ratio; warn_ratio is 0.5 (default 0.08), reduce_ratio is 0.15 by default", id="contradiction inside a policy"),
        pytest.param(GOOD.replace("{model: b,", "{model: bb,"), "line 13: routes.chat.candidates[1].model: no model named 'bb'; did you mean 'b'?", id="unknown model"),
        pytest.param(GOOD.replace("{model: b,", "{model: a,"), "'a' is listed twice", id="model twice"),
        pytest.param(GOOD.replace("${KEY}", "${NOT_THERE}"), "line 4: models.a.endpoints[0].api_key: environment variable NOT_THERE is not set", id="secret not set"),
        pytest.param(GOOD + "models: {}\n", "line 14: models: is given twice", id="key twice"),
        pytest.param(GOOD + "redis_url: s3cret\n", "line 14: redis_url: must begin with one of redis://", id="Redis without a scheme"),
        pytest.param(GOOD + "sql_url: mysql://u:s3cret@h/d\n", "line 14: sql_url: must begin with one of sqlite://", id="another database"),
        pytest.param(GOOD + "listen: 8080\n", "line 14: listen:", id="no host"),
        pytest.param(GOOD + 'scenes: ["night\\nwatch"]\n', "line 14: scenes[0]: has a line break or a sign that nobody sees (U+000A): take it out", id="name of two lines"),
        pytest.param(GOOD.replace("  chat:", '  "chat room":'), "must be one word: take the blanks out", id="name with a blank"),
        pytest.param(GOOD + "admin_listen: 127.0.0.1:8080\n", "line 14: admin_listen: is the same address", id="one address twice"),
        pytest.param(GOOD + "routes: [\n", "line 15: expected the node content", id="not YAML"),
        pytest.param("", "models: is missing", id="empty file"),
        pytest.param("- a\n", "must be a mapping", id="a list"),
        pytest.param(GOOD.replace("weight: 3", "weight: 0").replace("priority: 1", "weight: 0"), "no candidate has a weight above 0", id="nobody may answer"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(text: str, told: str) -> None:
    assert told in mistakes(text)


def test_a_profile_named_like_a_scene_holds_for_its_routes() -> None:
    tuned = GOOD + "profiles: {chat: {trigram_repeat: 0.7}, song: {base: verse, cycle_count: 9}}\n"
    route = parse(tuned, {"KEY": "k"}).topology().routes["chat"]
    assert isinstance(route.profile, Profile)
    assert (route.profile.name, route.profile.trigram_repeat, route.profile.char_repeat) == ("chat", 0.7, 0.35)
    assert parse(tuned, {"KEY": "k"}).profile("song", "chat") == replace(PROFILES["verse"], name="song", cycle_count=9)
    assert parse(GOOD, {"KEY": "k"}).topology().routes["chat"].profile is None


def test_a_profile_that_is_none_is_named_with_its_line() -> None:
    assert "unknown profile 'poem'" in mistakes(GOOD.replace("    when_down: error", "    profile: poem"))


def test_all_mistakes_are_named_at_once() -> None:
    told = mistakes(GOOD + "one: 1\ntwo: 2\n")
    assert "line 14: one" in told
    assert "line 15: two" in told


def test_the_example_file_would_start() -> None:
    text = Path("pointsman.example.yaml").read_text(encoding="utf-8")
    settings = parse(text, {"DASHSCOPE_API_KEY": "x", "DEEPSEEK_API_KEY": "y"})
    assert set(settings.topology().routes) == {"assistant", "extract"}


def test_all_mistakes_are_told_at_once_whatever_their_kind() -> None:
    text = """
models:
  a: {endpoints: [{base_url: "http://x/v1", model: m, api_key: "${NOT_SET}"}], vendr: v}
routes:
  chat: {candidates: [{model: b}], deadline_s: -1}
drain_s: long
"""
    with pytest.raises(SettingsError) as caught:
        parse(text, {})
    told = [(m.line, m.where) for m in caught.value.mistakes]
    assert sorted(told) == [
        (3, "models.a.endpoints[0].api_key"),
        (3, "models.a.vendr"),
        (5, "routes.chat.candidates[0].model"),
        (5, "routes.chat.deadline_s"),
        (6, "drain_s"),
    ]


def test_contradictions_are_told_beside_mistakes_that_leave_a_hole() -> None:
    text = """
models:
  a: {endpoints: [{base_url: "http://x/v1"}]}
  b: nonsense
routes:
  chat: {candidates: [{model: c}, {weight: 1}]}
  qa: {candidates: [], scene: poetry}
  copy: {candidates: [{model: a, weight: 0}]}
data_dir: [1]
drain_s: 601
"""
    with pytest.raises(SettingsError) as caught:
        parse(text, {})
    told = {m.where: m.what for m in caught.value.mistakes}
    assert told["models.a.endpoints[0].model"] == told["routes.chat.candidates[1].model"] == "is missing"
    assert told["models.b"] == "must be a mapping"
    assert told["routes.chat.candidates[0].model"] == "no model named 'c'; known: a, b"
    assert "poetry" in told["routes.qa.scene"]
    assert told["routes.qa.candidates"] == "needs 1 entry or more"
    assert told["routes.copy"] == "no candidate has a weight above 0"
    assert told["data_dir"] == "must be the path of a file or folder"
    assert told["drain_s"] == "must be 600 or less; it is 601 (default 30)"


def test_the_console_is_on_the_clients_address_only_below_a_path_of_its_own() -> None:
    assert not parse(GOOD, {"KEY": "k"}).console.on_data_port
    for prefix in ("", "prefix: /v1", "prefix: /metrics/x"):
        assert "on_data_port needs a `prefix`" in mistakes(GOOD + f"console: {{on_data_port: true, {prefix}}}\n")
    assert parse(GOOD + "console: {on_data_port: true, prefix: /v1x}\n", {"KEY": "k"}).console.on_data_port


def test_one_mistake_is_told_once() -> None:
    text = """
models:
  a: {endpoints: [{base_url: "${NOT_SET}", model: m}]}
  b: {endpoints: [{base_url: nonsense, model: m}]}
routes:
  chat: {candidates: [{model: a}]}
"""
    with pytest.raises(SettingsError) as caught:
        parse(text, {})
    assert [m.where for m in caught.value.mistakes] == [
        "models.a.endpoints[0].base_url",
        "models.b.endpoints[0].base_url",
    ]


def test_all_contradictions_of_the_breaker_are_told_at_once_each_at_its_line() -> None:
    text = (
        GOOD + "breaker:\n  warn_ratio: 0.5\n  open_ratio: 25\n  trend_score: 60\n  probe_budget: 5\n  lease_s: 0.5\n"
    )
    told = mistakes(text)
    assert "line 15: breaker.warn_ratio: must hold warn_ratio <= reduce_ratio" in told
    assert "line 16: breaker.open_ratio: must be 1 or less; it is 25 (default 0.25)" in told
    assert "line 17: breaker.trend_score: must not be above 15" in told and "trend_score is 60 (default 11)" in told
    assert "line 18: breaker.probe_budget: must be 13 or more" in told
    assert "line 19: breaker.lease_s: must hold fast_s < lease_s; lease_s is 0.5 (default 5)" in told
    assert told.count("line ") == 5


def test_a_contradiction_stands_at_the_line_that_the_file_sets() -> None:
    told = mistakes(GOOD + "breaker:\n  # strict\n  reduce_ratio: 0.05\n")
    lines = told.splitlines()
    assert len(lines) == 2 and all("line 16: breaker.reduce_ratio: must hold" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("routes: &a [*a]\n", "line 1: routes[0]: is an alias of what it stands in", id="a list in itself"),
        pytest.param("models: &a\n  b: *a\n", "models.b: is an alias of what it stands in", id="a mapping in itself"),
        pytest.param("routes: " + "[" * 5_000 + "]" * 5_000, "nests deeper than any settings do", id="5,000 deep"),
    ],
)
def test_yaml_without_end_is_a_mistake_and_no_traceback(text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(told)):
        read(text, {})
