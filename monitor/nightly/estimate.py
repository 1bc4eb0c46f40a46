"""What a run will cost and how long it will take, before the first call.

Pure. Tokens of a prompt are guessed from its characters; of a reply, the most is `max_tokens`, the usual is what the model
took in its last run, else six tenths of the most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from detector.text import CJK
from monitor.nightly.asking import Target
from monitor.nightly.policy import NightlyPolicy
from monitor.nightly.shapes import Prompt

CJK_TOKENS = 0.8
LATIN_TOKENS = 0.27
"""Tokens per character: about 0.6 to 1.0 for Chinese and 0.25 to 0.3 for English in today's vocabularies; the bill decides."""
OVERHEAD_TOKENS = 8  # of a chat template, per message
USUAL_PART = 0.6
REPLY_S = 12.0  # of a reply without a history, only used where the pace is no limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """For one model. Costs None without a price."""

    model: str
    prompts: int
    tokens_in: int
    tokens_out: int
    most_tokens_out: int
    cost: float | None
    most_cost: float | None
    seconds: float


def estimated(
    prompts: Sequence[Prompt],
    targets: Sequence[Target],
    policy: NightlyPolicy,
    usual_out: Mapping[str, float] | None = None,
) -> list[Estimate]:
    """Per target. `usual_out`: mean reply tokens of the model's last run, where there is one."""
    found = []
    for target in targets:
        limits, price = policy.limits_of(target.vendor), policy.price_of(target.model)
        tokens_in = sum(prompt_tokens(prompt) for prompt in prompts)
        limits_of = (int(policy.parameters.get("max_tokens", prompt.max_tokens)) for prompt in prompts)
        most = sum(max(limit, target.least_tokens) for limit in limits_of)
        usual = (usual_out or {}).get(target.model)
        tokens_out = min(most, round(usual * len(prompts)) if usual else round(USUAL_PART * most))
        sharing = sum(other.vendor == target.vendor for other in targets)
        pace_s = 60.0 / limits.per_minute * len(prompts) * sharing
        found.append(
            Estimate(
                model=target.model,
                prompts=len(prompts),
                tokens_in=tokens_in,
                tokens_out=tokens_out,
                most_tokens_out=most,
                cost=price.of(tokens_in, tokens_out) if price else None,
                most_cost=price.of(tokens_in, most) if price else None,
                seconds=max(pace_s, REPLY_S * len(prompts) * sharing / limits.concurrency),
            )
        )
    return found


def prompt_tokens(prompt: Prompt) -> int:
    """About how many tokens a vendor will count for the prompt."""
    text = "".join(message["content"] for message in prompt.messages)
    wide = len(CJK.findall(text))
    return round(wide * CJK_TOKENS + (len(text) - wide) * LATIN_TOKENS) + OVERHEAD_TOKENS * len(prompt.messages)
