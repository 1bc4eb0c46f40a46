"""How long to wait before the same vendor is asked again within one request. Pure; chance is handed in.

Only a vendor that said it has too much to do is given time: by 429, 503 or 529. Everything else goes on at once: another
vendor has nothing to recover from; a time-out has waited already; a refused connection, a crash (500) or a loop is not
made better by waiting, since the next call goes to another door or asks for something else.
The pause grows as SPEC 3.4 says, min(2^k, cap) + U(0.1, d), so that the clients of a whole fleet do not come back at once.
"""

from collections.abc import Mapping, Sequence

from router.ladder import Tried
from router.policy import RouterPolicy
from router.topology import Model

BUSY = frozenset({429, 503, 529})
"""Too many requests, service unavailable, and Anthropic's and others' "overloaded"."""
LEAST_JITTER_S = 0.1
OF_TIME_LEFT = 0.5
"""The pause takes at most this part of the deadline: the attempt after it needs time as well."""


def pause_s(
    tried: Sequence[Tried],
    model: Model,
    models: Mapping[str, Model],
    policy: RouterPolicy,
    *,
    chance: float,
    left_s: float,
) -> float:
    """Seconds until `model` is asked; 0: at once. `chance` uniform in 0..1, `left_s` of the deadline."""
    busy = sum(t.attempt.status in BUSY and vendor_of(t.model, models) == vendor_of(model.name, models) for t in tried)
    if not busy or vendor_of(tried[-1].model, models) != vendor_of(model.name, models):
        return 0.0
    jitter_s = LEAST_JITTER_S + chance * max(0.0, policy.backoff_jitter_s - LEAST_JITTER_S)
    return float(min(min(2.0 ** (busy - 1), policy.backoff_cap_s) + jitter_s, left_s * OF_TIME_LEFT))


def vendor_of(name: str, models: Mapping[str, Model]) -> str:
    """Who serves a model, as far as the settings say; a model without a vendor is its own."""
    model = models.get(name)
    return (model.vendor if model is not None else "") or name
