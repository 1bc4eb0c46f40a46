"""How often somebody may guess at the login: a few tries for each address, some more for everybody together.

Pure but for its own memory; moments are handed in. Behind a proxy all share one address, so the limit there is loose
enough for people who mistype and still hopeless for guessing 192 random bits.
"""

from collections import deque

WINDOW_S = 300.0
TRIES = 8
TRIES_OF_ALL = 60
ADDRESSES = 10_000


class LoginThrottle:
    """Counts failures of the last five minutes."""

    def __init__(self) -> None:
        self._by_address: dict[str, deque[float]] = {}
        self._all: deque[float] = deque()

    def wait_s(self, address: str, now_s: float) -> float:
        """How long this address has to wait before its next try; 0.0: it may try."""
        waits = [0.0]
        for failures, most in ((self._by_address.get(address, deque()), TRIES), (self._all, TRIES_OF_ALL)):
            _forget(failures, now_s)
            if len(failures) >= most:
                waits.append(failures[0] + WINDOW_S - now_s)
        return max(waits)

    def failed(self, address: str, now_s: float) -> None:
        if len(self._by_address) >= ADDRESSES:
            self._by_address = {a: f for a, f in self._by_address.items() if f and now_s - f[-1] < WINDOW_S}
        self._by_address.setdefault(address, deque(maxlen=TRIES)).append(now_s)
        self._all.append(now_s)

    def succeeded(self, address: str) -> None:
        self._by_address.pop(address, None)


def _forget(failures: deque[float], now_s: float) -> None:
    while failures and now_s - failures[0] >= WINDOW_S:
        failures.popleft()
