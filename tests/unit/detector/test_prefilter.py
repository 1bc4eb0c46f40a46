"""The prefilter may only ever say "clean" where the engine finds nothing."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.eval_detector import records
from detector.prefilter import surely_clean
from detector.profile import profile_of
from detector.score import scan
from detector.watch import Watch

WORDS = st.sampled_from(
    ["court", "the", "an", "of", "好", "的", "马", "item", "7", "extraordinarily", "\n2. ", "!", "😀"]
)
UNITS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


def agree(text: str) -> None:
    if surely_clean(text) is not None:
        engine, last = Watch(profile_of(None)), Watch(profile_of(None))
        assert (scan(engine, text) is None) == (last.last_look(text) is None)


def test_it_never_hides_what_the_engine_finds_in_the_corpora() -> None:
    for record in records():
        agree(record["text"])


@settings(deadline=None, max_examples=300)
@given(UNITS, UNITS, st.integers(1, 14), UNITS, st.sampled_from(["", " ", "\n", ", "]))
def test_it_never_hides_a_built_loop(head: str, unit: str, times: int, tail: str, joint: str) -> None:
    agree(head + " " + (unit + joint) * times + tail)


def test_ordinary_prose_is_surely_clean() -> None:
    assert (
        surely_clean("The route is closed until noon, so take the coast road and turn left at the old mill.")
        is not None
    )
