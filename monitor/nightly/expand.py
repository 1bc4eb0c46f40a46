"""Base items → prompts, by seeded variation: the same file gives the same prompts on every machine.

Pure. Each item gets an equal part of the file's `size`; what an item with few variations leaves over goes to the others.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from random import Random
from typing import Any

from monitor.nightly.shapes import PROFILE_OF, SLOT, Item, Prompt, SuiteFile


def expanded(part: SuiteFile) -> list[Prompt]:
    """The file's prompts, at most `size`, items in their order."""
    rows = {item.id: _rows(item, Random(f"{part.seed}/{item.id}")) for item in part.items}
    taken = _shares({name: len(found) for name, found in rows.items()}, part.size)
    return [
        _prompt(part, item, number, row)
        for item in part.items
        for number, row in enumerate(rows[item.id][: taken[item.id]], 1)
    ]


def _rows(item: Item, order: Random) -> list[Mapping[str, Any]]:
    """Every way to fill the item's slots, in a seeded order."""
    if item.cases:
        rows: list[Mapping[str, Any]] = list(item.cases)
    else:
        names = sorted(item.vary)
        rows = [dict(zip(names, values, strict=True)) for values in product(*(item.vary[name] for name in names))]
    order.shuffle(rows)
    return rows


def _shares(able: Mapping[str, int], size: int) -> dict[str, int]:
    """How many each item gives: level by level, so that none is left behind before it has no more."""
    taken = dict.fromkeys(able, 0)
    left = size
    while left > 0 and (open_ := [name for name in able if taken[name] < able[name]]):
        for name in open_[:left]:
            taken[name] += 1
        left -= len(open_[:left])
    return taken


def _prompt(part: SuiteFile, item: Item, number: int, row: Mapping[str, Any]) -> Prompt:
    words = {name: value for name, value in row.items() if name != "expect"}
    return Prompt(
        id=f"{item.id}.{number}",
        lure=item.lure,
        language=part.language,
        messages=tuple(_messages(item, words)),
        max_tokens=item.max_tokens or part.max_tokens,
        profile=item.profile or PROFILE_OF.get(item.lure),
        schema=item.schema_,
        expect=row.get("expect"),
        meta=words,
    )


def _messages(item: Item, words: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    if item.system:
        yield {"role": "system", "content": item.system}
    for turn in item.conversation:
        yield {"role": turn.role, "content": SLOT.sub(lambda slot: words[slot.group(1)], turn.text)}
