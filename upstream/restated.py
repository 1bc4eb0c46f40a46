"""Is a streamed reply the conversation's previous reply over again? Judged on its first characters, else at its end.

Pure. The head is kept back only as long as it agrees with how the previous reply began, so that an ordinary reply waits for
a word or two; a reply that agrees for `gate.restated_chars` is not shown, and another model may answer silently.
"""

import re
from unicodedata import normalize

from detector import Profile, context_sim, profile_of, score
from detector.verdict import Verdict

_LENGTH_RATIO = 0.6  # texts of very different length cannot be that similar
_SAMPLES, _SAMPLE_CHARS, _LEAST_FOUND = 16, 6, 3
_BLANKS = re.compile(r"\s+")


class RestatedHead:
    """Feed the text that is about to be shown; `holds` says whether it should wait. `head`: characters that are enough."""

    def __init__(self, previous: str, head: int) -> None:
        self._head = head
        self._previous = _folded(previous[: 2 * head])
        self._said = ""
        self._since: float | None = None
        self.holding = False
        self.confirmed = False
        # A short previous reply (yes, thanks) may well be said again.
        self._over = len(self._previous) < head

    def holds(self, text: str, now: float) -> bool:
        """Take the next text; True: wait. `confirmed` once so much of it was said before that it is the same reply."""
        if self._over:
            return False
        self._said += text
        said = _folded(self._said)
        self.holding = self._previous.startswith(said[: self._head])
        self._since = now if self._since is None else self._since
        self.confirmed = self.holding and len(said) >= self._head
        self._over = not self.holding
        return self.holding

    def overdue(self, now: float, hold_s: float) -> bool:
        """Whether it waited long enough; from then on it is judged at its end only."""
        if not self.holding or self._since is None or now - self._since < hold_s:
            return False
        self.holding, self._over = False, True
        return True


def restated(text: str, previous: str, profile: str | Profile | None = None) -> Verdict | None:
    """The verdict on a whole reply that says `previous` again, else None."""
    if not text or not previous or min(len(text), len(previous)) < _LENGTH_RATIO * max(len(text), len(previous)):
        return None
    if not _may_agree(text, previous) or context_sim(text, previous) <= profile_of(profile).context_sim:
        return None
    verdict = score(text, previous=previous, profile=profile)
    return verdict if verdict.degenerate else None


def _may_agree(text: str, previous: str) -> bool:
    """A few samples of one in the other: the similarity itself takes milliseconds, on the loop that serves everybody."""
    step = max(1, (len(text) - _SAMPLE_CHARS) // _SAMPLES)
    samples = [text[at : at + _SAMPLE_CHARS] for at in range(0, max(1, len(text) - _SAMPLE_CHARS), step)]
    return sum(sample in previous for sample in samples) >= min(_LEAST_FOUND, len(samples))


def _folded(text: str) -> str:
    return _BLANKS.sub(" ", normalize("NFKC", text).casefold()).lstrip()
