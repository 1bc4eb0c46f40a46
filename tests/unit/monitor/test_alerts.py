"""Messages, their limits and signatures; what a robot's answer means is in tests/contract/test_robots.py."""

import pytest

from monitor.alerts import wecom
from monitor.alerts.channel import Channel, Message, Result
from monitor.alerts.cut import cut
from monitor.alerts.dingtalk import sign
from monitor.alerts.render import render

MOVED = {
    "model": "acme/large",
    "from_level": "warn",
    "to_level": "open",
    "at": 1_700_000_000.0,
    "reasons": ["rolling_15m"],
    "numbers": [["ratio", 0.31], ["n", 120.0]],
    "actor": "breaker",
    "note": "",
}


def test_dingtalk_signature_is_the_published_vector() -> None:
    assert sign("SECtest", 1700000000000) == "aZLLrriXgn05YbwaGR7knYsLeJADjr9NwLaNNKpxh4g%3D"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_message_says_model_level_numbers_and_what_comes_next(language: str) -> None:
    told = render("transition", MOVED, "acme/large:7", language)  # type: ignore[arg-type]
    for part in ("acme/large", "L3", "31.0%", "rolling_15m", "acme/large:7", "2023-11-14"):
        assert part in told.markdown


def test_the_robot_says_why_in_words_a_person_on_call_understands() -> None:
    numbers = [["burst.same", 11], ["burst.sessions", 6]]
    told = render("transition", {**MOVED, "reasons": ["burst"], "numbers": numbers}, "a:1", "zh").markdown
    assert "原因: 同一指纹爆发（burst）" in told
    assert "数据: 同一指纹 11, 会话数 6" in told


def test_a_cut_message_keeps_whole_characters_and_lines_within_the_bytes() -> None:
    text = "\n".join("扳道工" * 20 for _ in range(40))
    short = cut(text, 4096)
    assert len(short.encode()) <= 4096
    assert short.endswith("扳道工\n…")


def test_a_short_message_is_not_touched() -> None:
    assert cut("好", 3) == "好"


def test_wecom_content_stays_within_4096_bytes() -> None:
    channel = Channel(name="w", kind="wecom", url="http://127.0.0.1/x")
    _, body = wecom.request(channel, Message(title="t", markdown="复" * 3000), now_s=0.0, limit_bytes=10**6)
    assert len(body["markdown"]["content"].encode()) <= 4096


def test_a_channel_never_prints_its_url_or_secret() -> None:
    channel = Channel(name="w", kind="wecom", url="http://127.0.0.1/?key=hidden", secret="hidden")
    assert "hidden" not in repr(channel)


@pytest.mark.parametrize(
    ("code", "result"),
    [(0, Result.OK), (-1, Result.RETRY), (45009, Result.RATE), (40058, Result.SHRINK), (93000, Result.CONFIG)],
)
def test_wecom_error_codes_decide_not_the_http_status(code: int, result: Result) -> None:
    assert wecom.result({"errcode": code}) is result
