"""Verse whose lines end in commas: a stanza that comes round with another word in one place, and songs that do so by trade."""

import random
from collections.abc import Iterator

import pytest

from detector import GatePolicy, GateState, StreamGate, score
from detector.text import shape, tokens

HEAD = (
    "The valley lies silent and the last train has gone,\nSo we walk home along the water and talk of the summer.\n\n"
)
STANZAS = {
    "en": ("The {},", "A single thread,", "A single thread of light and shade.", "It whispers to the night,"),
    "fr": ("Le {},", "Un seul fil,", "Un seul fil de lumière et d'ombre.", "Il murmure à la nuit,"),
    "de": ("Nur {},", "ein einziger Faden,", "ein einziger Faden aus Licht und Schatten.", "Er flüstert zur Nacht,"),
    "ru": ("Снова {},", "одна тонкая нить,", "одна тонкая нить света и тени.", "Она шепчет во тьме,"),
    "zh": ("那{},", "一根细细的线,", "一根由光与影交织而成的线。", "它对着黑夜说话,"),
}  # fmt: skip
SLOTS = {
    "en": ["river", "old mill", "garden", "quiet silver road"],
    "fr": ["fleuve", "vieux moulin", "jardin", "long chemin calme"],
    "de": ["der Fluss", "die Mühle", "der Garten", "der lange stille Weg"],
    "ru": ["река", "старая мельница", "сад", "долгий тихий путь"],
    "zh": ["河流", "古老的磨坊", "花园", "漫长安静的道路"],
}


def rounds(language: str, lines: int, values: int) -> str:
    """Stanzas with one of a few words in their first line, in no order; ten of them, some 170 words."""
    chance = random.Random(f"{language}{lines}{values}")
    out, last = "", ""
    while len(tokens(out)) < 165 or out.count("\n\n") < 10:
        last = chance.choice([slot for slot in SLOTS[language][:values] if slot != last])
        out += "\n".join(STANZAS[language][:lines]).format(last) + "\n\n"
    return out.strip()


@pytest.mark.parametrize("head", ["", HEAD], ids=["bare", "after a healthy head"])
@pytest.mark.parametrize("lines", [2, 3, 4])
@pytest.mark.parametrize("values", [2, 3, 4])
@pytest.mark.parametrize("language", STANZAS)
def test_a_stanza_that_comes_round_with_another_word_in_one_place_is_found(
    language: str, values: int, lines: int, head: str
) -> None:
    text = head + rounds(language, lines, values)
    verdict = score(text)
    assert verdict.degenerate, text
    assert verdict.onset is not None
    assert verdict.onset >= len(head)
    gate = StreamGate(GatePolicy())
    shown = sum(len(gate.feed(text[at : at + 5], 0.0).text) for at in range(0, len(text), 5))
    gate.finish()
    assert gate.verdict.degenerate
    assert gate.verdict.onset == verdict.onset
    assert shown < len(text)


def test_the_verdict_on_verse_does_not_depend_on_the_chunks() -> None:
    text = HEAD + rounds("en", 3, 4)
    seen = set()
    for size in (1, 3, 17, 64, 1000):
        gate = StreamGate()
        sent = "".join(gate.feed(text[at : at + size], 0.0).text for at in range(0, len(text), size))
        sent += gate.finish().text
        seen.add((sent, gate.verdict.start, gate.verdict.end, gate.verdict.onset, gate.verdict.unit))
    assert len(seen) == 1


def songs() -> Iterator[tuple[str, str]]:
    """(name, text); every line ends in a comma, as code's lines do."""
    numbers = ["Ten", "Nine", "Eight", "Seven", "Six", "Five", "Four"]
    for name, verse in (
        ("bottles", "{0} green bottles standing on the sill,\n{0} green bottles standing on the sill,\nAnd if one green bottle should happen to spill,\nThere'll be {1} green bottles standing on the sill,"),
        ("monkeys", "{0} little monkeys bouncing on the bed,\nOne fell off and hurt her head,\nMother asked the doctor and the doctor said,\nNo more monkeys bouncing on the bed,"),
        ("a bed", "There were {0} in the bed,\nAnd the little one said,\nRoll over, roll over,\nSo they all rolled over,\nAnd one fell out,"),
    ):  # fmt: skip
        yield name, "\n\n".join(verse.format(*numbers[at : at + 2]) for at in range(5))
    deeds = ["clap your hands", "stamp your feet", "shout hooray", "nod your head"]
    line = "If you're merry and you know it,"
    yield "deeds", "\n\n".join(f"{line} {deed},\n{line} {deed},\n{line} then your face is going to show it,\n{line} {deed}," for deed in deeds)  # fmt: skip
    beasts = [("cow", "moo"), ("pig", "oink"), ("duck", "quack"), ("horse", "neigh"), ("lamb", "baa")]
    farm = "Old Peter kept a farm, hey ho,\nAnd on that farm he kept a {0}, hey ho,\nWith a {1} {1} here,\nAnd a {1} {1} there,\nHere a {1}, there a {1},\nEverywhere a {1} {1},\nOld Peter kept a farm, hey ho,"  # fmt: skip
    yield "a farm", "\n\n".join(farm.format(*beast) for beast in beasts)
    built = [
        "That ate the malt",
        "That chased the rat",
        "That worried the cat",
        "That tossed the dog",
        "That milked the cow",
    ]
    yield "built up", "\n\n".join("\n".join([f"This is the thing of day {at},", *(f"{part}," for part in built[:at][::-1]), "That lay in the house by the sea,"]) for at in range(1, 6))  # fmt: skip
    chance = random.Random(6)
    words = [
        "slow",
        "river",
        "winter",
        "bridge",
        "farmer",
        "lantern",
        "open",
        "silver",
        "gate",
        "morning",
        "song",
        "carry",
        "summer",
        "road",
        "water",
        "light",
        "evening",
        "stone",
        "garden",
        "home",
    ]
    chorus = "Oh take me home where the river bends,\nTake me home to my oldest friends,\nTake me home tonight,"

    def verse_of(lines: int) -> str:
        return "\n".join(" ".join(chance.sample(words, 6)).capitalize() + "," for _ in range(lines))

    yield (
        "a chorus said twice at the end",
        "\n\n".join([verse_of(4), chorus, verse_of(4), chorus, verse_of(3), chorus, chorus]),
    )
    yield (
        "a refrain after each couplet",
        "\n\n".join(f"{verse_of(2)}\nAnd the river runs on to the sea," for _ in range(9)),
    )
    yield "a psalm", "\n".join(f"{verse_of(1)}\nfor his mercy endures for ever," for _ in range(20))
    yield "a litany", "\n".join(f"Holy {word},\npray for us all," for word in words)


@pytest.mark.parametrize(("name", "text"), [pytest.param(name, text, id=name) for name, text in songs()])
def test_a_song_that_counts_or_comes_back_to_its_refrain_is_left_alone(name: str, text: str) -> None:
    assert shape(text) == "verse", name
    assert not score(text).degenerate
    gate = StreamGate()
    states = set()
    sent = ""
    for at in range(0, len(text), 7):
        release = gate.feed(text[at : at + 7], 0.0)
        sent += release.text
        states.add(release.state)
    assert sent + gate.finish().text == text
    assert GateState.SUPPRESSING not in states
    assert not gate.verdict.degenerate


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name,\n       city,\n       count(id),\n       max(age)\nFROM people;\nSELECT city,\n       name,\n",
        "    name VARCHAR NOT NULL,\n    city VARCHAR NOT NULL,\n    age INT NOT NULL,\n    mail VARCHAR NULL,\n",
        "fn new(\n    name: String,\n    city: String,\n    age: u8,\n    mail: String,\n) {\n",
        "Berlin,\nRome,\nOslo,\nParis,\nLima,\n",
        '"名字": "北京",\n"城市": "上海",\n"国家": "中国",\n"语言": "中文",\n',
        "int first;\nfirst_name = read();\nreturn first;\n}\nbreak;\n",
    ],
)
def test_code_and_data_whose_lines_end_in_commas_are_no_verse(text: str) -> None:
    assert shape(text) == "code"
