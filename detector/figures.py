"""What is said instead of words: numbers, in digits or spelt, single letters, the answers of a form.

In:  tokens (casefolded) or the body of a line.
Out: whether they are such. Counting, boards, keys of answers and dumps repeat by trade, as numbers do.
"""

import string
from collections.abc import Sequence

_SPELT = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand "
    "un deux trois quatre cinq sept huit neuf dix vingt trente quarante cinquante soixante "
    "uno dos tres cuatro cinco seis siete ocho nueve diez veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa "
    "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf "
    "один два три четыре пять шесть семь восемь девять двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят "
    "девяносто"
)
_LETTERS = set(string.ascii_lowercase) - {"a", "i"}  # these two are words
_SAID = frozenset(_SPELT.split()) | _LETTERS
_GIVEN = (
    "yes no true false none null n/a na ok okay pass fail passed failed correct incorrect right wrong agree disagree neutral "
    "positive negative mixed spam ham high medium low on off open closed done todo pending active inactive present absent "
    "oui non vrai faux sí si ja nein да нет はい いいえ 예 아니오 "
    "verdadero falso correcto incorrecto vero sim não verdadeiro richtig falsch wahr unwahr верно неверно правда ложь "
    "positif négatif positivo negativo positiv negativ "
    "是 否 对 错 正确 错误 正面 负面 中性 积极 消极 有 无 是的 不是 通过 未通过 同意 不同意 合格 不合格"
)
_ANSWERS = frozenset(_GIVEN.split())


def wordy(window: Sequence[str], share: float = 0.4) -> bool:
    """Whether less than `share` of the window are numbers and single letters: dumps, boards and counting repeat by trade."""
    return sum(map(str.isnumeric, window)) + sum(map(_SAID.__contains__, window)) < share * len(window)


def is_answer(body: str) -> bool:
    """Whether the body of a line is what a form, a key or a classifier answers."""
    return body in _ANSWERS
