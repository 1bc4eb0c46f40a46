"""What a person typed, read from an urlencoded form: bounded, and each mistake named by its field."""

from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.requests import Request

from base.names import unseen
from base.reasons import reason_in

MAX_BYTES = 400_000
"""Enough for a pasted reply of 100,000 characters in Chinese, as a form encodes it, in part; larger goes to the CLI."""


class BadForm(ValueError):
    """`field` is the form's field; `why` a key of the locale below `form.`; `values` fill it in."""

    def __init__(self, field: str, why: str, status: int = 422, **values: object) -> None:
        super().__init__(f"{field}: {why}")
        self.field, self.why, self.status, self.values = field, why, status, values


class Form:
    """Fields by name; a field that is missing reads as empty."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        self._fields = fields

    def raw(self, name: str) -> str:
        """As typed, with line ends as the rest of the world writes them."""
        return self._fields.get(name, [""])[0].replace("\r\n", "\n")

    def items(self) -> list[tuple[str, str]]:
        """Every field as typed, in order; of one that is given more than once each."""
        return [(name, value.replace("\r\n", "\n")) for name, values in self._fields.items() for value in values]

    def all(self, name: str) -> list[str]:
        return self._fields.get(name, [])

    def text(self, name: str, *, least: int = 0, most: int = 500, prose: bool = False) -> str:
        """Without blanks round it; of one line unless it is `prose`. Raises BadForm."""
        value = self.raw(name).strip()
        if len(value) < least:
            raise BadForm(name, "too_short" if value else "missing", least=least)
        if len(value) > most:
            raise BadForm(name, "too_long", most=most)
        if sign := unseen(value, prose=prose):
            raise BadForm(name, "unseen", sign=sign)
        return value

    def number(self, name: str, *, least: float, most: float, default: float | None = None) -> float:
        value = self.raw(name).strip()
        if not value and default is not None:
            return default
        try:
            number = float(value)
        except ValueError:
            raise BadForm(name, "no_number") from None
        if not least <= number <= most:
            raise BadForm(name, "out_of_range", least=f"{least:g}", most=f"{most:g}")
        return number

    def one_of(self, name: str, known: Mapping[str, object] | frozenset[str] | list[str] | tuple[str, ...]) -> str:
        value = self.raw(name).strip()
        if value not in known:
            raise BadForm(name, "unknown", known=", ".join(sorted(known)[:20]))
        return value


async def read_form(request: Request) -> Form:
    """The form in the body. Raises BadForm: too large, or no form."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise BadForm("body", "no_form", 415)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BYTES:
            raise BadForm("body", "too_large", 413, most=MAX_BYTES)
    try:
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=200, errors="replace")
    except ValueError:
        raise BadForm("body", "no_form", 400) from None
    return Form(fields)


def reason_of(form: Form) -> str:
    """Every act has a reason."""
    said = form.text("reason", least=1, most=500, prose=True)
    try:
        return reason_in(said)
    except ValueError:
        raise BadForm("reason", "short_reason") from None
