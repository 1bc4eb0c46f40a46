"""The limits that docs/detection.md admits. A test here that fails is good news: strike the limit from the page."""

import random

from detector import GateState, StreamGate, detect, parse_structured, score, score_logprobs
from detector.probability import Position
from detector.score import SCAN_CHARS
from detector.structured import Step

PARAGRAPH = (
    "The river rises in the hills above the town and runs for ninety miles to the sea. Its upper valley was settled by "
    "shepherds, and their low stone walls still part the fields. Further down, mills once stood at every weir."
)


def test_the_same_said_in_other_words_is_not_seen() -> None:
    text = (
        "Regular exercise keeps the heart strong. Moving often is good for your circulation. Being active benefits your "
        "cardiovascular system. Those who train a lot tend to have healthier hearts. Sport does the heart good."
    )
    assert not score(text).degenerate


def test_two_copies_of_a_paragraph_are_not_flagged_and_four_are() -> None:
    assert not score("\n\n".join([PARAGRAPH] * 2)).degenerate
    assert score("\n\n".join([PARAGRAPH] * 4)).degenerate


def test_garble_without_logprobs_is_not_seen() -> None:
    text = (
        "lattice bravely oxen Thursday unplug thirteenth of, gravel mauve! singing the carburettor widely onto parsnip"
    )
    assert not score(text).degenerate


def test_a_cycle_with_a_counter_at_low_confidence_is_silent_in_the_probabilities() -> None:
    top = tuple((number, -1.7) for number in range(5))
    unsure = [Position(token=100 + at if at % 9 == 0 else at % 9, logprob=-1.7, top=top) for at in range(1_000)]
    assert score_logprobs(unsure) is None


def test_a_run_that_begins_inside_a_folded_character_is_compared_by_characters() -> None:
    found = detect("ßsßs", ignore_case=True)  # folded: ssssss, six copies of half a character
    assert found is not None
    assert (found.pattern, found.repeat) == ("ßs", 2)


def test_a_value_cut_inside_a_string_is_repaired_as_if_whole_and_marked_lossy() -> None:
    parsed = parse_structured('{"name": "Alexandr', finish_reason="length")
    assert (parsed.value, parsed.lossy) == ({"name": "Alexandr"}, True)


def test_an_open_brace_in_prose_hides_the_json_from_step_three() -> None:
    parsed = parse_structured('Use {"a: like this: {"city": "Rome"}')
    assert parsed.step in (None, Step.REPAIRED)


def test_of_more_than_200000_characters_only_the_tail_is_judged() -> None:
    healthy = "".join(
        f"Page {at} tells of {at * 7919 % 10007:x} and {at * 31 % 9973:x}, then of nothing else. " for at in range(6000)
    )
    assert len(healthy) > SCAN_CHARS
    assert not score(PARAGRAPH * 6 + healthy).degenerate
    verdict = score(healthy + PARAGRAPH * 6)
    assert verdict.degenerate
    assert abs(verdict.start - len(healthy)) < len(PARAGRAPH)
    assert verdict.end == len(healthy) + 6 * len(PARAGRAPH)


def test_rows_of_data_that_only_count_on_are_not_flagged() -> None:
    row = '{{"seq": {0}, "host": "berlin-1", "level": "info", "text": "heartbeat sent, no answer"}}'
    assert not score("\n".join(row.format(at) for at in range(10))).degenerate


def test_a_rotation_of_few_items_in_no_order_is_shown_beyond_the_limit() -> None:
    chance = random.Random(4)
    names = ["India", "China", "Japan", "Brazil", "Kenya", "Peru", "Chad", "Cuba", "Laos", "Mali", "Oman", "Togo"]
    text = "These countries have coasts: " + ", ".join(chance.choices(names, k=400))
    gate = StreamGate()
    shown = sum(len(gate.feed(text[at : at + 5], 0.0).text) for at in range(0, len(text), 5))
    assert shown > 29 + 160


def test_blanks_are_held_late() -> None:
    gate = StreamGate()
    gate.feed("Here is the table." + " " * 400, 0.0)
    assert gate.state is GateState.PASSING


def test_a_loop_in_the_midst_that_ends_between_two_checks_may_be_missed() -> None:
    head = "The route is closed until noon, so take the coast road. "
    found = [
        score(f"{head[at:]}{'court order ' * 8}and then we left the town behind us.").degenerate for at in range(32)
    ]
    assert not all(found)  # 96 characters wide, as wide as a cycle must be: checks stand 32 characters apart
    assert all(
        score(f"{head[at:]}{'court order ' * 12}and then we left the town behind us.").degenerate for at in range(32)
    )


def test_names_that_count_on_in_a_line_are_flagged_from_48_on_and_sentences_of_data_from_eight() -> None:
    assert not score(", ".join(f"Figure {at}" for at in range(1, 40))).degenerate
    assert score(", ".join(f"Figure {at}" for at in range(1, 90))).degenerate
    assert score(", ".join(f"guest {at} sits at table {(at + 3) // 4}" for at in range(1, 31))).degenerate


def test_numbers_that_count_on_by_themselves_are_not_flagged() -> None:
    assert not score("\n".join(f'{at} to {at + 49}: "{at} to {at + 49}"' for at in range(1, 15))).degenerate


def test_a_block_that_is_said_again_with_parts_left_out_is_not_flagged_at_the_third_time() -> None:
    entry = '            {\n                "city": "Harbour"\n            }'
    blocks = [
        f"In this form:\n```json\n[\n{entries}\n]\n```\n"
        for entries in (f"{entry},\n{entry}", f"{entry},\n{entry}", entry)
    ]
    assert not score("\n".join(blocks)).degenerate


def test_sentences_that_drift_are_shown_beyond_the_limit_until_enough_of_them_was_said() -> None:
    chance = random.Random(2)
    parts = (["They", "The settlers", "The Greeks"], ["believed", "held", "said"], ["a source", "a symbol", "the mark"])
    ends = ["of sustenance", "of nourishment", "of their culture", "of wealth", "of peace"]
    said = [
        f"{chance.choice(parts[0])} {chance.choice(parts[1])} that bread was {chance.choice(parts[2])} {chance.choice(ends)}."
        for _ in range(40)
    ]
    gate, text = StreamGate(), " ".join(said)
    shown = sum(len(gate.feed(text[at : at + 5], 0.0).text) for at in range(0, len(text), 5))
    assert score(text).degenerate
    assert shown > 160


def test_a_loop_that_looks_like_code_is_held_late() -> None:
    letters = "".join(f"{letter}:\n\n" for letter in "ABCDEFGHIJKLMNOPRSTUVY")
    gate, text = StreamGate(), "A:\n\n" + letters + "A:\n\n" + letters * 5
    shown = sum(len(gate.feed(text[at : at + 5], 0.0).text) for at in range(0, len(text), 5))
    assert shown > 2 * len(letters)


def test_verse_with_a_new_word_in_one_place_each_time_is_found_only_when_it_is_long() -> None:
    things = [
        "river",
        "mill",
        "garden",
        "road",
        "bridge",
        "candle",
        "harbour",
        "forest",
        "window",
        "mountain",
        "storm",
        "farmer",
    ]
    stanza = "The {},\nA single thread,\nA single thread of light and shade."
    once = [stanza.format(thing) for thing in things]
    assert not score("\n\n".join(once)).degenerate
    assert score("\n\n".join(once * 2)).degenerate


def test_rows_of_a_table_that_draw_on_few_values_in_no_order_are_not_flagged() -> None:
    chance = random.Random(3)
    columns = (["apple", "banana", "blueberry"], ["red", "green", "blue"], ["1", "2"])
    rows = [f"| {' | '.join(map(chance.choice, columns))} |" for _ in range(60)]
    assert not score("\n".join(["| fruit | colour | price |", "|---|---|---|", *rows])).degenerate


def test_a_template_with_a_number_and_two_words_new_in_each_copy_is_not_flagged() -> None:
    things = [
        "mill",
        "garden",
        "road",
        "bridge",
        "candle",
        "harbour",
        "forest",
        "window",
        "mountain",
        "storm",
        "farmer",
        "river",
    ]
    copies = [
        f"{at}. This is the commandment number {at}, and it is often misread as {thing}. However, it is not about {thing}."
        for at, thing in enumerate(things, 1)
    ]
    assert not score("\n".join(copies)).degenerate


def test_a_numbered_list_that_draws_on_few_items_in_no_order_is_not_flagged() -> None:
    chance = random.Random(5)
    fruits = ["Oranges", "Apples", "Figs", "Pears", "Plums", "Kiwis"]
    lines = [f"{at}. {chance.choice(fruits)}" for at in range(1, 41)]
    assert not score("\n".join(lines)).degenerate
    assert score("\n".join(f"{at}. {fruits[at % 6]}" for at in range(1, 41))).degenerate


def test_an_ode_that_changes_one_word_a_line_is_flagged_unless_it_is_called_verse() -> None:
    ode = "采采芣苢，薄言采之。采采芣苢，薄言有之。\n采采芣苢，薄言掇之。采采芣苢，薄言捋之。\n采采芣苢，薄言袺之。采采芣苢，薄言襭之。"
    assert score(ode).degenerate
    assert not score(ode, profile="verse").degenerate
