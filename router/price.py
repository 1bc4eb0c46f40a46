"""What a model's tokens cost, by its settings. Pure."""

from dataclasses import dataclass

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """As vendors quote it: per million tokens, in `currency`."""

    input_per_million: float
    output_per_million: float
    currency: str

    def of(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.input_per_million + tokens_out * self.output_per_million) / MILLION
