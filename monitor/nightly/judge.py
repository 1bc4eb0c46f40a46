"""What one reply to a suite prompt amounts to: repetition, and where JSON was asked, how far it is right.

Pure. In: the prompt and the finished attempt.  Out: Result.
Parse, schema and content are told apart: a model that writes fine JSON with wrong values needs another cure than one that
breaks off in the middle.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from breaker.outcome import Outcome, classify
from detector.structured import Parsed, parse_structured
from monitor.nightly.policy import KeptReplies, Price
from monitor.nightly.records import Result, Run
from monitor.nightly.shapes import Prompt
from upstream.attempt import Attempt

MAX_REPLY_CHARS = 20_000
"""Of a kept reply; a loop of 8,000 tokens is longer and tells nothing more."""


def judged(
    prompt: Prompt,
    attempt: Attempt,
    *,
    run: Run,
    model: str,
    round_: int,
    at: float,
    price: Price | None,
    parameters: Mapping[str, Any],
    keep: KeptReplies,
) -> Result:
    """The record of one prompt asked of one model."""
    outcome, verdict = classify(attempt.fault, attempt.verdict), attempt.verdict
    ill = outcome is Outcome.DEGENERATE
    text = attempt.raw_text or attempt.text
    kept = keep is KeptReplies.ALL or (keep is KeptReplies.DEGENERATE and (ill or bool(verdict and verdict.degenerate)))
    parsed = _parsed(prompt, attempt, outcome)
    known = verdict is not None and verdict.fingerprint is not None
    return Result(
        run_id=run.id,
        model=model,
        prompt_id=prompt.id,
        round=round_,
        at=at,
        lure=prompt.lure.value,
        language=prompt.language,
        counted=outcome in (Outcome.GOOD, Outcome.DEGENERATE),
        ill=ill,
        fault=attempt.fault.value if attempt.fault else "",
        loop_class=verdict.loop_class.value if verdict and verdict.loop_class else "",
        rules=tuple(rule.value for rule in verdict.rules) if verdict else (),
        metrics={name: round(float(value), 4) for name, value in asdict(verdict.metrics).items()} if verdict else {},
        fingerprint=f"{verdict.fingerprint:016x}" if verdict and known else "",
        start=verdict.start if verdict else 0,
        end=verdict.end if verdict else 0,
        repeats=verdict.repeats if verdict else 0,
        step=parsed.step.value if parsed and parsed.step else "",
        parsed=None if parsed is None else parsed.step is not None,
        schema_ok=None if parsed is None else parsed.usable,
        content_ok=None if parsed is None else parsed.usable and same_answer(prompt.expect, parsed.value),
        why_not=_why_not(prompt, parsed),
        served_model=attempt.served_model[:128],
        finish_reason=(attempt.finish_reason or "")[:32],
        parameters=dict(parameters),
        tokens_in=attempt.usage.prompt_tokens,
        tokens_out=attempt.usage.completion_tokens,
        elapsed_s=round(attempt.elapsed_s, 3),
        cost=price.of(attempt.usage.prompt_tokens, attempt.usage.completion_tokens) if price else 0.0,
        asked=prompt.asked if kept else "",
        reply=text[:MAX_REPLY_CHARS] if kept else "",
        reply_chars=len(text),
    )


def _parsed(prompt: Prompt, attempt: Attempt, outcome: Outcome) -> Parsed | None:
    """None where no JSON was asked for, or where the model gave no reply that could be judged."""
    if prompt.schema is None or outcome not in (Outcome.GOOD, Outcome.DEGENERATE):
        return None
    if outcome is Outcome.DEGENERATE:
        return Parsed()  # a looping array may repair into a fine list; it is not an answer
    return parse_structured(attempt.text, prompt.schema, None, attempt.finish_reason)


def _why_not(prompt: Prompt, parsed: Parsed | None) -> str:
    if parsed is None:
        return ""
    if parsed.errors:
        return f"schema: {parsed.errors[0]}"[:200]
    if parsed.step is None:
        return parsed.reason.value if parsed.reason else "repetition"
    return "" if same_answer(prompt.expect, parsed.value) else "content"


def same_answer(expected: Any, got: Any) -> bool:
    """Whether `got` says what is expected: extra keys are allowed, lists are not longer; case and width do not matter."""
    if isinstance(expected, Mapping):
        return isinstance(got, Mapping) and all(
            name in got and same_answer(v, got[name]) for name, v in expected.items()
        )
    if isinstance(expected, list):
        pairs = isinstance(got, list) and len(got) == len(expected)
        return pairs and all(map(same_answer, expected, got))
    if isinstance(expected, str):
        return isinstance(got, str) and _plain(got) == _plain(expected)
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    return bool(expected == got)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()
