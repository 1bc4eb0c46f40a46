"""The little Markdown that our own runbooks are written in, as HTML. Everything is escaped first.

Headings, paragraphs, lists, code blocks, tables; inside a line: code, bold, links to http(s) or a path of ours.
"""

import re
from collections.abc import Iterator
from html import escape

_LINK = re.compile(r"\[([^\]]+)\]\((https?://[^\s)]+|/?[A-Za-z0-9_./#?=-]+)\)")
_BULLET = re.compile(r"^(?:[-*]|\d+\.) +(.*)$")


def to_html(text: str) -> str:
    """Blocks are parted by empty lines; a code block may hold some."""
    return "\n".join(_block(block) for block in _blocks(text))


def _blocks(text: str) -> Iterator[list[str]]:
    block: list[str] = []
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        if not line.strip() and not fenced:
            if block:
                yield block
            block = []
        else:
            block.append(line)
    if block:
        yield block


def _block(lines: list[str]) -> str:
    first = lines[0]
    if first.startswith("```"):
        code = "\n".join(line for line in lines[1:] if not line.startswith("```"))
        return f"<pre><code>{escape(code)}</code></pre>"
    if heading := re.match(r"^(#{1,3}) +(.*)$", first):
        size = len(heading[1])
        rest = _block(lines[1:]) if lines[1:] else ""
        return f"<h{size}>{_inline(heading[2])}</h{size}>{rest}"
    if _BULLET.match(first):
        tag = "ol" if first[0].isdigit() else "ul"
        return f"<{tag}>{''.join(f'<li>{_inline(item)}</li>' for item in _items(lines))}</{tag}>"
    if first.startswith("|"):
        return _table(lines)
    return f"<p>{_inline(' '.join(line.strip() for line in lines))}</p>"


def _items(lines: list[str]) -> list[str]:
    """A line that starts no item goes on with the one before."""
    items: list[str] = []
    for line in lines:
        if found := _BULLET.match(line):
            items.append(found[1])
        else:
            items[-1] += " " + line.strip()
    return items


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    rows = [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    out = []
    for at, row in enumerate(rows):
        tag = "th" if at == 0 else "td"
        out.append(f"<tr>{''.join(f'<{tag}>{_inline(cell)}</{tag}>' for cell in row)}</tr>")
    return f"<table>{''.join(out)}</table>"


def _inline(text: str) -> str:
    """Code is taken out first: nothing inside it is a mark."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"<code>{escape(part[1:-1])}</code>" if part.startswith("`") and len(part) > 2 else _marks(part)
        for part in parts
    )


def _marks(text: str) -> str:
    safe = _LINK.sub(r'<a href="\2">\1</a>', escape(text, quote=True))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
