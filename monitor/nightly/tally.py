"""Results → the figures people and the breaker read: rates by model, lure, class and language, JSON by step of the way.

Pure. A rate is k of n judged replies; hard failures and refusals are in neither.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from breaker.seen import Tally
from monitor.nightly.records import Result
from monitor.nightly.shapes import Lure


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonTally:
    """Of `asked` structured items: how many parsed at all, kept the schema, and said the right thing."""

    asked: int = 0
    parsed: int = 0
    valid: int = 0
    right: int = 0
    steps: Mapping[str, int] | None = None
    reasons: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTally:
    """One model's night."""

    model: str
    total: Tally
    by_lure: Mapping[str, Tally]
    by_language: Mapping[str, Tally]
    classes: Mapping[str, int]
    faults: Mapping[str, int]
    json: JsonTally
    asked: int
    tokens_in: int
    tokens_out: int
    cost: float
    elapsed_s: float
    served: Mapping[str, int]
    """How often each model name stood in the replies: a vendor's silent change shows here."""
    ill_prompts: tuple[str, ...]

    @property
    def served_model(self) -> str:
        return max(self.served, key=lambda name: self.served[name], default="")


def tally(results: Iterable[Result]) -> Tally:
    n = k = 0
    for result in results:
        n += result.counted
        k += result.counted and result.ill
    return Tally(n, k)


def by_model(results: Sequence[Result], round_: int | None = None) -> dict[str, ModelTally]:
    """Every model that has a result, of one round or (None) of all rounds pooled."""
    found: dict[str, list[Result]] = {}
    for result in results:
        if round_ is None or result.round == round_:
            found.setdefault(result.model, []).append(result)
    return {model: of_model(model, theirs) for model, theirs in sorted(found.items())}


def of_model(model: str, results: Sequence[Result]) -> ModelTally:
    ill = [result for result in results if result.counted and result.ill]
    return ModelTally(
        model=model,
        total=tally(results),
        by_lure={lure.value: tally(r for r in results if r.lure == lure.value) for lure in Lure},
        by_language={
            lang: tally(r for r in results if r.language == lang) for lang in sorted({r.language for r in results})
        },
        classes=Counter(result.loop_class or "unnamed" for result in ill),
        faults=Counter(result.fault for result in results if result.fault and not (result.counted and result.ill)),
        json=json_tally(results),
        asked=len(results),
        tokens_in=sum(result.tokens_in for result in results),
        tokens_out=sum(result.tokens_out for result in results),
        cost=sum(result.cost for result in results),
        elapsed_s=sum(result.elapsed_s for result in results),
        served=Counter(result.served_model for result in results if result.served_model),
        ill_prompts=tuple(sorted({result.prompt_id for result in ill})),
    )


def json_tally(results: Iterable[Result]) -> JsonTally:
    asked = [result for result in results if result.parsed is not None]
    return JsonTally(
        asked=len(asked),
        parsed=sum(bool(result.parsed) for result in asked),
        valid=sum(bool(result.schema_ok) for result in asked),
        right=sum(bool(result.content_ok) for result in asked),
        steps=Counter(result.step for result in asked if result.step),
        reasons=Counter(result.why_not.partition(":")[0] for result in asked if result.why_not),
    )
