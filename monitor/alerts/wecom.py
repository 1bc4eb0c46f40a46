"""WeCom group robot: body, limits and what its error codes mean. Facts: ALERTS.md."""

import re

from monitor.alerts.channel import (
    Answer,
    Channel,
    Delivery,
    Mention,
    Message,
    Post,
    Result,
    called_by,
    code_in,
    read_code,
    to_json,
)
from monitor.alerts.cut import cut

MARKDOWN_BYTES = 4096
TEXT_BYTES = 2048
REST_S = 65.0  # 20 messages a minute per robot
RESULTS = {
    0: Result.OK,
    -1: Result.RETRY,
    45009: Result.RATE,
    45033: Result.RATE,
    40058: Result.SHRINK,
}


def post(channel: Channel, message: Message, *, now_s: float, limit_bytes: int) -> Post:
    """Markdown; a text where somebody must be called whom Markdown cannot call: `@all` and telephone numbers.

    The key is in the URL, so nothing is signed.
    """
    if message.mention is Mention.ALL or (message.mention is Mention.ON_CALL and channel.mobiles):
        return Post(url=channel.url, content=to_json(_text(channel, message, limit_bytes)))
    called = "".join(f"<@{user}>" for user in called_by(channel.users)) if message.mention is Mention.ON_CALL else ""
    tail = f"\n[{message.more}]({message.link})" if message.link else ""
    room = min(limit_bytes, MARKDOWN_BYTES) - len(called.encode()) - 1
    content = cut(message.markdown, room, tail)
    content = f"{content}\n{called}" if called else content
    return Post(url=channel.url, content=to_json({"msgtype": "markdown", "markdown": {"content": content}}))


def _text(channel: Channel, message: Message, limit_bytes: int) -> dict[str, object]:
    everybody = message.mention is Mention.ALL
    tail = f"\n{message.link}" if message.link else ""
    return {
        "msgtype": "text",
        "text": {
            "content": cut(plain(message.markdown), min(limit_bytes, TEXT_BYTES), tail),
            "mentioned_list": ["@all"] if everybody else list(channel.users),
            "mentioned_mobile_list": [] if everybody else list(channel.mobiles),
        },
    }


def plain(markdown: str) -> str:
    """Markdown as a reader of plain text wants it: marks gone, links spelled out."""
    text = re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r"\1 \2", markdown)
    return re.sub(r"^(> ?|#+ )", "", text.replace("**", "").replace("`", ""), flags=re.MULTILINE)


def read(answer: Answer) -> Delivery:
    """Class of the body's errcode; HTTP 200 alone says nothing. 93000 and 40008 and unknown codes are ours to mend."""
    return read_code(answer, code_in(answer, "errcode"), RESULTS, "errcode")
