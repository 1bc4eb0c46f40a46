"""What may be kept of a failed reply: at most 500 characters round the onset, personal data and keys replaced.

Order matters: keys and e-mails first, since both may hold digits that look like numbers of the later rules.
"""

import re

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.S), "[key]"),
    (re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"), "[key]"),
    (re.compile(r"\b(?:sk|pk|ak|rk|ghp|gho|xox[abp]|AKIA|LTAI|AIza)[-_A-Za-z0-9]{12,}"), "[key]"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"), "[key]"),
    (re.compile(r"(?i)\b(?:api[_-]?key|token|secret|password|passwd|密码|口令)\s*[:=：]\s*[^\s,;，；]{4,}"), "[key]"),
    (re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+"), "[email]"),
    # Resident identity number: 17 digits and a check character (GB 11643).
    (
        re.compile(r"(?<!\d)[1-9]\d{5}(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?!\d)"),
        "[id]",
    ),
    # With its country code a mobile number has as many digits as a short card number, so it comes first.
    (re.compile(r"\+86[- ]?1[3-9]\d[- ]?\d{4}[- ]?\d{4}(?!\d)"), "[phone]"),
    # Bank cards: 13 to 19 digits, often in groups of four (ISO/IEC 7812).
    (re.compile(r"(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)"), "[card]"),
    (re.compile(r"(?<!\d)(?:\+?86[- ]?)?1[3-9]\d[- ]?\d{4}[- ]?\d{4}(?!\d)"), "[phone]"),
    (re.compile(r"(?<![\d.])(?:\+\d{1,3}[- .]?)?\(?\d{3,4}\)?[- .]\d{3,4}[- .]?\d{4}(?!\d)"), "[phone]"),
)


def redact(text: str) -> str:
    """Return `text` with phone and identity numbers, bank cards, e-mail addresses and keys replaced by their kind."""
    for pattern, kind in _RULES:
        text = pattern.sub(kind, text)
    return text


def excerpt(text: str, onset: int | None, limit: int) -> str:
    """Return at most `limit` characters round `onset` (two fifths before it), redacted.

    Redacts a wider piece first, so that a number cut in half by the border is still seen whole.
    """
    if limit <= 0:
        return ""
    at = min(max(onset or 0, 0), len(text))
    start = max(0, min(at - limit * 2 // 5, len(text) - limit))
    margin = 128
    before = redact(text[max(0, start - margin) : start + limit + margin])
    if start == 0:
        return before[:limit]
    # What lies before the start is dropped after redaction; its redacted length says how much that is.
    dropped = len(redact(text[max(0, start - margin) : start]))
    return before[dropped : dropped + limit]
