"""What each robot is sent and what its answers mean; how they behave together is in tests/contract/test_robots.py."""

import json
from typing import Any

import httpx
import pytest

from monitor.alerts import dingtalk, feishu, slack, webhook, wecom
from monitor.alerts.channel import Answer, Channel, Mention, Message, Result
from monitor.alerts.cut import cut
from monitor.alerts.deliver import KINDS, deliver

LONG = Message(title="题", markdown="**题**\n" + "复读" * 30_000, link="http://console/incidents/1", more="查看全文")
WHOLE = 1_000_000


def channel(kind: str, **more: Any) -> Channel:
    return Channel(name="c", kind=kind, url="http://127.0.0.1/x?key=hidden", **more)


def body(kind: str, message: Message, *, limit_bytes: int = WHOLE, **more: Any) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads(
        KINDS[kind].post(channel(kind, **more), message, now_s=1_700_000_000.0, limit_bytes=limit_bytes).content
    )
    return sent


def test_dingtalk_signature_is_the_published_vector() -> None:
    assert dingtalk.sign("SECtest", 1700000000000) == "aZLLrriXgn05YbwaGR7knYsLeJADjr9NwLaNNKpxh4g%3D"


def test_feishu_signature_is_the_published_vector() -> None:
    assert feishu.sign("SECtest", 1700000000) == "G7XpBpG8NgG02fJOAhX6FRAObIljmFoxVReo8I62pEk="


def test_a_webhook_signature_covers_time_and_body() -> None:
    good = webhook.sign("s", 1, b"{}")
    assert good != webhook.sign("s", 2, b"{}") != webhook.sign("s", 1, b"{ }") != good
    post = webhook.post(channel("webhook", secret="s"), LONG, now_s=7.9, limit_bytes=WHOLE)
    assert post.headers["x-pointsman-signature"] == f"sha256={webhook.sign('s', 7, post.content)}"


def test_a_channel_never_prints_its_url_or_secret() -> None:
    hidden = Channel(name="w", kind="wecom", url="http://127.0.0.1/?key=hidden", secret="hidden")
    assert "hidden" not in repr(hidden)
    assert "hidden" not in repr(wecom.post(hidden, LONG, now_s=0.0, limit_bytes=WHOLE))


@pytest.mark.parametrize(
    ("kind", "bytes_"),
    [("wecom", 4096), ("dingtalk", 20_000), ("feishu", 20 * 1024), ("slack", 13_000), ("webhook", 25_000)],
)
@pytest.mark.parametrize("filler", ["复读" * 30_000, '"\\\n' * 30_000], ids=["wide", "escaped"])
def test_the_longest_message_keeps_within_the_robot_s_bytes(kind: str, bytes_: int, filler: str) -> None:
    message = Message(title="题" * 100, markdown=filler, link="http://console/1", mention=Mention.ON_CALL)
    sent = body(kind, message, users=("u1", "u2"))
    if kind == "wecom":
        assert len(sent["markdown"]["content"].encode()) <= bytes_
    elif kind in ("slack", "webhook"):
        assert len((sent.get("text") or sent["markdown"]).encode()) <= bytes_
    else:
        assert len(json.dumps(sent, ensure_ascii=False).encode()) <= bytes_ + 4_000
        assert len(KINDS[kind].post(channel(kind), message, now_s=0.0, limit_bytes=WHOLE).content) <= bytes_


def test_what_was_cut_says_where_the_whole_is() -> None:
    assert body("wecom", LONG)["markdown"]["content"].endswith("…\n[查看全文](http://console/incidents/1)")
    assert "<http://console/incidents/1|查看全文>" in body("slack", LONG)["text"]


@pytest.mark.parametrize(
    ("mention", "part"),
    [
        pytest.param(Mention.NOBODY, {"atMobiles": [], "atUserIds": [], "isAtAll": False}, id="nobody"),
        pytest.param(Mention.ON_CALL, {"atMobiles": ["138"], "atUserIds": ["u"], "isAtAll": False}, id="on call"),
        pytest.param(Mention.ALL, {"atMobiles": [], "atUserIds": [], "isAtAll": True}, id="all"),
    ],
)
def test_dingtalk_calls_people_and_their_numbers_stand_in_the_text(mention: Mention, part: dict[str, Any]) -> None:
    sent = body("dingtalk", Message(title="t", markdown="m", mention=mention), users=("u",), mobiles=("138",))
    assert sent["at"] == part
    assert ("@138" in sent["markdown"]["text"]) is (mention is Mention.ON_CALL)


def test_wecom_calls_by_user_in_markdown_and_by_number_or_all_in_a_text() -> None:
    called = Message(title="t", markdown="**m** [a](http://x)\n> q", mention=Mention.ON_CALL)
    assert body("wecom", called, users=("zhang",))["markdown"]["content"].endswith("<@zhang>")
    by_number = body("wecom", called, users=("zhang",), mobiles=("138",))
    assert by_number["text"] == {
        "content": "m a http://x\nq", "mentioned_list": ["zhang"], "mentioned_mobile_list": ["138"],
    }  # fmt: skip
    everybody = body("wecom", Message(title="t", markdown="m" * 5_000, mention=Mention.ALL))
    assert everybody["text"]["mentioned_list"] == ["@all"]
    assert len(everybody["text"]["content"].encode()) <= 2048


def test_feishu_and_slack_call_people_in_their_own_way() -> None:
    called = Message(title="t", markdown="**t**\nm", mention=Mention.ON_CALL)
    everybody = Message(title="t", markdown="**t**\nm", mention=Mention.ALL)
    assert body("feishu", called, users=("ou_1",))["card"]["elements"][0]["content"] == "m\n<at id=ou_1></at>"
    assert "<at id=all></at>" in body("feishu", everybody)["card"]["elements"][0]["content"]
    assert body("slack", called, users=("U1",))["text"].endswith("\n<@U1>")
    assert body("slack", everybody)["text"].endswith("\n<!channel>")


def test_what_a_model_wrote_can_call_nobody_in_slack() -> None:
    assert "<!channel>" not in slack.mark_up("sample: <!channel> & <@U1>")
    assert slack.mark_up("> **a** [b](http://c)") == "> *a* <http://c|b>"


def test_feishu_s_card_is_coloured_by_severity_and_has_a_button() -> None:
    card = body("feishu", LONG, secret="SECtest")["card"]
    assert card["header"]["template"] == "blue"
    assert card["elements"][1]["actions"][0]["url"] == "http://console/incidents/1"
    assert body("feishu", LONG, secret="SECtest")["sign"] == "G7XpBpG8NgG02fJOAhX6FRAObIljmFoxVReo8I62pEk="


@pytest.mark.parametrize(
    ("kind", "answer", "result"),
    [
        ("wecom", {"errcode": 0}, Result.OK),
        ("wecom", {"errcode": -1}, Result.RETRY),
        ("wecom", {"errcode": 45009}, Result.RATE),
        ("wecom", {"errcode": 45033}, Result.RATE),
        ("wecom", {"errcode": 40058}, Result.SHRINK),
        ("wecom", {"errcode": 93000}, Result.CONFIG),
        ("wecom", {"errcode": 40008}, Result.CONFIG),
        ("wecom", {}, Result.CONFIG),
        ("dingtalk", {"errcode": 0}, Result.OK),
        ("dingtalk", {"errcode": 130101}, Result.RATE),
        ("dingtalk", {"errcode": 90030}, Result.RATE),
        ("dingtalk", {"errcode": 410100}, Result.RATE),
        ("dingtalk", {"errcode": 460101}, Result.SHRINK),
        ("dingtalk", {"errcode": 101002}, Result.SHRINK),
        ("dingtalk", {"errcode": 310000}, Result.CONFIG),
        ("dingtalk", {"errcode": 300005}, Result.CONFIG),
        ("feishu", {"code": 0}, Result.OK),
        ("feishu", {"StatusCode": 0}, Result.OK),
        ("feishu", {"code": 11232}, Result.RATE),
        ("feishu", {"code": 9499, "msg": "too many request"}, Result.RATE),
        ("feishu", {"code": 9499, "msg": "Bad Request"}, Result.CONFIG),
        ("feishu", {"code": 19021}, Result.CONFIG),
        ("feishu", {"code": 19022}, Result.CONFIG),
        ("feishu", {"code": 19024}, Result.CONFIG),
        ("webhook", {}, Result.OK),
    ],
)
def test_the_body_s_code_decides_and_not_the_http_status(kind: str, answer: dict[str, Any], result: Result) -> None:
    assert KINDS[kind].read(Answer(status=200, text="", body=answer)).result is result


@pytest.mark.parametrize("kind", ["wecom", "dingtalk", "feishu"])
@pytest.mark.parametrize("status", [201, 302, 400, 403, 404])
def test_a_code_of_success_under_another_status_than_200_is_no_success(kind: str, status: int) -> None:
    said = KINDS[kind].read(Answer(status=status, text="", body={"errcode": 0, "code": 0}))
    assert (said.result, said.detail.split(",")[0]) == (Result.CONFIG, f"HTTP {status}")


@pytest.mark.parametrize("kind", ["wecom", "dingtalk", "feishu"])
@pytest.mark.parametrize("code", [False, None, 0.0, "0", [], {}, "x" * 10_000, "\x00", 10**40])
def test_a_code_that_is_no_number_is_no_success_and_is_not_repeated_in_the_log(kind: str, code: object) -> None:
    said = KINDS[kind].read(Answer(status=200, text="", body={"errcode": code, "code": code}))
    assert said.result is Result.CONFIG
    assert said.detail in ("errcode ?", "code ?")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("invalid webhook url", "errcode 93000: invalid webhook url"),
        ("see https://robot/send?key=secret-1 \n now", "errcode 93000: see … now"),
        ("x" * 500, "errcode 93000: " + "x" * 160 + "…"),
        ("\x1b[31mred", "errcode 93000: [31mred"),
        (["no text"], "errcode 93000"),
        ("", "errcode 93000"),
    ],
)
def test_a_refusal_has_the_robot_s_own_words_on_one_line_and_no_address(said: object, shown: str) -> None:
    assert KINDS["wecom"].read(Answer(status=200, text="", body={"errcode": 93000, "errmsg": said})).detail == shown


async def test_a_robot_that_repeats_its_key_does_not_make_us_tell_it() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"errcode": 93000, "errmsg": "bad key 0123-secret-key"})

    channel = Channel(name="c", kind="wecom", url="http://robot/send?key=0123-secret-key")
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        said = await deliver(client, channel, Message(title="t", markdown="m"), 0.0)
    assert said.detail == "errcode 93000: bad key …"


@pytest.mark.parametrize(
    ("status", "text", "result"),
    [
        (200, "ok", Result.OK),
        (400, "invalid_payload", Result.CONFIG),
        (403, "invalid_token", Result.CONFIG),
        (400, "msg_too_long", Result.SHRINK),
        (200, "<html>", Result.CONFIG),
    ],
)
def test_slack_says_ok_or_one_word(status: int, text: str, result: Result) -> None:
    said = KINDS["slack"].read(Answer(status=status, text=text))
    assert said.result is result
    assert "<" not in said.detail


def test_a_cut_message_keeps_whole_characters_and_lines_within_the_bytes() -> None:
    text = "\n".join("扳道工" * 20 for _ in range(40))
    short = cut(text, 4096)
    assert len(short.encode()) <= 4096
    assert short.endswith("扳道工\n…")


@pytest.mark.parametrize("text", ["好", "a**b**"])
def test_a_short_message_is_not_touched(text: str) -> None:
    assert cut(text, len(text.encode())) == text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("a" * 30 + "[link](http://long.example/address)", "a" * 30, id="a link is left out whole"),
        pytest.param("a" * 30 + " **bold and long enough to be cut**", "a" * 30 + " bold", id="no open bold"),
        pytest.param("a" * 30 + " `code and long enough to be cut`", "a" * 30 + " code", id="no open code"),
    ],
)
def test_a_cut_inside_one_line_leaves_no_mark_open(text: str, wanted: str) -> None:
    assert cut(text, 48).startswith(wanted)
    assert cut(text, 48).count("**") % 2 == 0 == cut(text, 48).count("`") % 2


def test_a_code_block_that_was_cut_is_closed() -> None:
    assert cut("```\n" + "x = 1\n" * 50, 100).count("```") == 2


def test_no_room_at_all_is_no_error() -> None:
    assert cut("扳道工扳道工", 5) == ""
