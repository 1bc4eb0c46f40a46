"""Slack incoming webhook: body, limits and what its answers mean. Facts: ALERTS.md."""

import re

from monitor.alerts.channel import Answer, Channel, Delivery, Mention, Message, Post, Result, called_by, to_json
from monitor.alerts.cut import cut

TEXT_BYTES = 12_000  # 40,000 characters are cut by Slack; a message this long is read by nobody
REST_S = 30.0  # about one a second; a 429 says itself how long
TOO_LONG = frozenset({"msg_too_long", "too_many_blocks"})
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


def post(channel: Channel, message: Message, *, now_s: float, limit_bytes: int) -> Post:
    """Slack's own mark-up: one star for bold, `<url|words>` for a link."""
    tail = f"\n[{message.more}]({message.link})" if message.link else ""
    text = mark_up(cut(message.markdown, min(limit_bytes, TEXT_BYTES), tail))
    if message.mention is Mention.ALL:
        text += "\n<!channel>"
    elif message.mention is Mention.ON_CALL and channel.users:
        text += "\n" + " ".join(f"<@{user}>" for user in called_by(channel.users))
    return Post(url=channel.url, content=to_json({"text": text}))


def mark_up(markdown: str) -> str:
    """Markdown as Slack reads it. What a model wrote can call nobody: `&`, `<` and `>` are escaped first."""
    escaped = markdown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quoted = re.sub(r"^&gt; ?", "> ", escaped, flags=re.MULTILINE)
    return _LINK.sub(r"<\2|\1>", quoted).replace("**", "*")


def read(answer: Answer) -> Delivery:
    """`ok` in plain text is success; anything else under 4xx is ours to mend, and says so in one word."""
    said = answer.text.strip()
    if answer.status == 200 and said == "ok":
        return Delivery(result=Result.OK)
    if said in TOO_LONG:
        return Delivery(result=Result.SHRINK, detail=said)
    word = said if re.fullmatch(r"[a-z_]{1,40}", said) else f"HTTP {answer.status}"
    return Delivery(result=Result.CONFIG, detail=word)
