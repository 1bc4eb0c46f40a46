"""One request, one whole answer: the ladder at work over scripted models."""

import asyncio
from dataclasses import replace
from urllib.parse import unquote

import pytest

from base.faults import Fault
from breaker.levels import Level
from router.policy import RouterPolicy
from router.rests import RestReason
from router.topology import WhenDown
from tests.support.router_world import CATALOG, FakePermit, Says, World, down, looped, streamed_text, until


async def test_a_chinese_model_name_can_be_read_from_the_headers() -> None:
    response = await World({"通义 a%": [Says()]}, names=("通义 a%",), spares=()).ask()
    assert unquote(response.headers["x-pointsman-model"]) == "通义 a%"


async def test_a_good_reply_is_handed_on_with_unknown_fields_and_the_truth_in_headers() -> None:
    world = World()
    response = await world.ask()
    assert response.status_code == 200
    assert response.json()["choices"][0]["message"]["content"] == "hello there"
    assert response.json()["kept"] is True
    told = {k: v for k, v in response.headers.items() if k.startswith("x-pointsman")}
    assert told == {
        "x-pointsman-model": "a",
        "x-pointsman-attempts": "1",
        "x-pointsman-verdict": "clean",
        "x-pointsman-fallback": "none",
        "x-pointsman-state": "healthy",
    }
    assert response.headers["x-request-id"] == world.log.calls[0].request_id
    assert world.guard.outcomes == ["a:good"]


async def test_a_loop_goes_to_the_spare_then_to_the_next_models_in_order() -> None:
    world = World({"a": [looped()], "a2": [looped()], "b": [looped()]})
    response = await world.ask()
    assert world.asked == ["a", "a2", "b", "c"]
    assert response.headers["x-pointsman-fallback"] == "model"
    assert response.headers["x-pointsman-model"] == "c"
    assert response.json()["usage"] == {"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60}
    assert world.guard.outcomes == ["a:degenerate", "a:degenerate", "b:degenerate", "c:good"]


async def test_the_same_model_is_never_asked_the_same_thing_twice() -> None:
    world = World({"a": [looped()]})
    assert (await world.ask()).headers["x-pointsman-fallback"] == "spare"
    first, second = (call.body for _, call, _ in world.models.asked)
    assert first != second
    assert second["top_p"] == 0.9


async def test_when_every_model_loops_the_client_gets_a_phrase_marked_as_such() -> None:
    world = World({n: [looped()] for n in ("a", "a2", "b", "c")})
    response = await world.ask()
    body = response.json()
    assert response.status_code == 200
    assert body["choices"][0]["message"]["content"] in CATALOG.languages["en"].scenes["chat"]
    assert body["pointsman"]["fallback"] == response.headers["x-pointsman-fallback"] == "phrase"
    assert body["pointsman"]["code"] == "repetition_detected"
    assert len(world.guard.noted) == 4, "the phrase itself is no attempt"


async def test_a_phrase_is_in_the_language_of_the_last_user_message() -> None:
    world = World({n: [looped()] for n in ("a", "a2", "b", "c")})
    body = (await world.ask(messages=[{"role": "user", "content": "今天怎么样"}])).json()
    assert body["choices"][0]["message"]["content"] in CATALOG.languages["zh"].scenes["chat"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fault", [Fault.CONNECT_FAILED, Fault.TIMEOUT_TOTAL, Fault.TIMEOUT_FIRST_TEXT, Fault.RATE_LIMITED]
)
async def test_nobody_is_asked_for_other_words_when_no_model_gave_a_reply_at_all(fault: Fault, stream: bool) -> None:
    world = World({n: [down(fault)] for n in ("a", "a2", "b", "c")})
    response = await world.ask(messages=[{"role": "user", "content": "今天怎么样"}], stream=stream)
    said = streamed_text(response) if stream else response.json()["choices"][0]["message"]["content"]
    assert said in CATALOG.languages["zh"].unreachable


async def test_the_phrase_of_a_route_whose_models_are_all_out_asks_for_no_other_words() -> None:
    world = World(levels=dict.fromkeys("abc", Level.OPEN))
    body = (await world.ask()).json()
    assert world.asked == [] and body["choices"][0]["message"]["content"] in CATALOG.languages["en"].unreachable


@pytest.mark.parametrize("faults", [(looped(), down()), (down(), looped())])
async def test_one_reply_of_no_use_among_failures_speaks_by_its_scene(faults: tuple[Says, Says]) -> None:
    world = World({"a": [faults[0]], "b": [faults[1]]}, names=("a", "b"), spares=())
    body = (await world.ask()).json()
    assert body["choices"][0]["message"]["content"] in CATALOG.languages["en"].scenes["chat"]


@pytest.mark.parametrize("says", [looped(), down()])
async def test_no_state_is_told_where_no_model_answered(says: Says) -> None:
    world = World({n: [says] for n in ("a", "a2", "b", "c")})
    phrase = await world.ask()
    error = await world.ask(headers={"x-pointsman-fallback": "none"})
    assert (phrase.status_code, phrase.headers["x-pointsman-model"]) == (200, "")
    assert error.status_code >= 500
    assert phrase.headers["x-pointsman-state"] == error.headers["x-pointsman-state"] == ""
    assert phrase.json()["pointsman"]["state"] == ""


async def test_a_long_clean_head_is_worth_more_than_a_phrase() -> None:
    head = "A useful beginning. " * 15
    response = await World({n: [Says(text=head, fault=Fault.REPETITION)] for n in ("a", "a2", "b", "c")}).ask()
    said = response.json()["choices"][0]["message"]["content"]
    assert said.startswith(head.strip())
    assert said.endswith(tuple(CATALOG.languages["en"].closing))
    assert response.headers["x-pointsman-fallback"] == "cut"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault.REPETITION, "repetition_detected"),
        (Fault.EMPTY, "empty_reply"),
        (Fault.INVALID_FORMAT, "invalid_format"),
    ],
)
async def test_who_opted_out_gets_a_502_with_the_attempts_and_never_the_bad_text(fault: Fault, code: str) -> None:
    bad = Says(text="BAD BAD BAD", fault=fault)
    response = await World({n: [bad] for n in ("a", "a2", "b", "c")}).ask(headers={"x-pointsman-fallback": "none"})
    assert response.status_code == 502
    assert response.json()["error"]["code"] == code
    assert len(response.json()["error"]["attempts"]) == 4
    assert "BAD" not in response.text


async def test_models_that_all_failed_hard_give_an_honest_503_where_the_route_says_so() -> None:
    world = World({n: [down(retry_after_s=7.0)] for n in ("a", "a2", "b", "c")}, when_down=WhenDown.ERROR)
    response = await world.ask()
    assert response.status_code == 503
    assert response.headers["retry-after"] == "7"
    assert world.guard.outcomes == ["a:failed", "a:failed", "b:failed", "c:failed"]


async def test_a_route_whose_models_are_all_open_makes_no_call() -> None:
    world = World(levels=dict.fromkeys("abc", Level.OPEN), when_down=WhenDown.ERROR)
    world.guard.until = {"b": world.clock.now_s() + 142.0}
    response = await world.ask()
    assert (response.status_code, response.headers["retry-after"]) == (503, "142")
    assert world.asked == []


async def test_a_programme_that_waits_for_json_never_gets_a_phrase() -> None:
    world = World({n: [Says(text="{", fault=Fault.INVALID_FORMAT)] for n in ("a", "a2", "b", "c")})
    response = await world.ask(response_format={"type": "json_object"}, no_repeat_ngram_size=3)
    assert (response.status_code, response.json()["error"]["code"]) == (502, "invalid_format")
    assert response.headers["x-pointsman-changed"] == "no_repeat_ngram_size,temperature"
    assert "no_repeat_ngram_size" not in world.models.asked[0][1].body


async def test_the_callers_own_error_is_passed_on_and_no_other_model_is_bothered() -> None:
    wrong = Says(text="", fault=Fault.REJECTED, status=422, error={"message": "no such tool", "type": "x"})
    world = World({"a": [wrong]})
    response = await world.ask()
    assert (response.status_code, response.json()["error"]["message"]) == (422, "no such tool")
    assert world.asked == ["a"]
    assert world.guard.outcomes == ["a:not_counted"]


async def test_a_refusal_is_handed_on_and_not_routed_around() -> None:
    world = World({"a": [Says(text="I cannot help with that", fault=Fault.REFUSAL)]})
    response = await world.ask()
    assert response.json()["choices"][0]["message"]["content"] == "I cannot help with that"
    assert response.headers["x-pointsman-verdict"] == "refusal"
    assert world.asked == ["a"]


async def test_a_reply_whose_tokens_went_to_reasoning_is_told_and_not_retried() -> None:
    world = World({"a": [Says(text="", fault=Fault.LENGTH_IN_REASONING)]})
    response = await world.ask()
    assert (response.status_code, response.headers["x-pointsman-verdict"]) == (200, "length_in_reasoning")


async def test_a_forbidden_endpoint_rests_and_is_not_asked_again() -> None:
    world = World({"a": [down(Fault.FORBIDDEN)]})
    await world.ask()
    await world.ask()
    assert world.asked == ["a", "a2", "a2"]


async def test_when_all_endpoints_only_rest_the_request_waits_inside_its_deadline() -> None:
    world = World({"a": [down(Fault.RATE_LIMITED, retry_after_s=3.0), Says()]}, names=("a",), spares=())
    await world.ask()
    waiting = asyncio.create_task(world.ask())
    await until(lambda: world.clock.sleeping)
    await world.clock.advance(2.9)
    assert not waiting.done()
    await world.clock.advance(0.2)
    assert (await waiting).headers["x-pointsman-model"] == "a"


@pytest.mark.parametrize("fallback", ["phrase", "none"])
async def test_nobody_waits_for_the_end_of_a_refusal(fallback: str) -> None:
    world = World({"a": [down(Fault.FORBIDDEN), Says()]}, names=("a",), spares=(), deadline_s=400.0)
    headers = {} if fallback == "phrase" else {"x-pointsman-fallback": "none"}
    await world.ask(headers=headers)
    answer = await asyncio.wait_for(world.ask(headers=headers), 60)
    assert (answer.status_code, world.asked) == (200 if fallback == "phrase" else 503, ["a"])


async def test_who_meets_a_resting_refusal_is_told_when_it_ends_and_not_to_ask_every_five_seconds() -> None:
    world = World({"a": [down(Fault.FORBIDDEN)]}, names=("a",), spares=(), when_down=WhenDown.ERROR)
    rest_s = world.deps.policy.forbidden_rest_s
    first = await world.ask()
    assert (first.status_code, first.headers["retry-after"]) == (503, f"{rest_s:.0f}")
    world.clock.tick(100.0)
    later = await world.ask()
    assert (later.status_code, later.headers["retry-after"]) == (503, f"{rest_s - 100.0:.0f}")
    assert world.asked == ["a"]


async def test_a_long_rest_beside_a_model_that_only_failed_does_not_keep_the_client_away() -> None:
    world = World({"a": [down(Fault.FORBIDDEN)], "b": [down()]}, names=("a", "b"), spares=(), when_down=WhenDown.ERROR)
    response = await world.ask()
    assert (response.status_code, response.headers["retry-after"], world.asked) == (503, "5", ["a", "b"])


async def test_an_open_model_whose_endpoints_rest_longer_than_its_cool_down_is_back_when_both_are_over() -> None:
    world = World(names=("a",), spares=(), levels={"a": Level.OPEN}, when_down=WhenDown.ERROR)
    now = world.clock.now_s()
    world.guard.until = {"a": now + 142.0}
    world.deps.rests.rest("a", 0, now + 300.0, reason=RestReason.FORBIDDEN, at=now, status=401)
    assert (await world.ask()).headers["retry-after"] == "300"


async def test_a_long_pause_is_not_waited_for_where_a_phrase_answers() -> None:
    world = World(
        {"a": [down(Fault.RATE_LIMITED, retry_after_s=60.0), Says()]}, names=("a",), spares=(), deadline_s=400.0
    )
    await world.ask()
    answer = await asyncio.wait_for(world.ask(), 60)
    assert (answer.headers["x-pointsman-fallback"], world.asked) == ("phrase", ["a"])


async def test_the_last_candidate_has_no_first_text_limit_of_its_own() -> None:
    world = World({n: [looped()] for n in ("a", "a2", "b")}, deadline_s=90.0)
    await world.ask()
    limits = [t.first_text_s for _, _, t in world.models.asked]
    assert limits[0] == 30.0
    assert limits[-1] == pytest.approx(90.0, abs=1.0)


async def test_the_deadline_a_client_asks_for_bounds_every_attempt() -> None:
    world = World()
    await world.ask(headers={"x-pointsman-deadline-ms": "1500"})
    assert world.models.asked[0][2].total_s <= 1.5


@pytest.mark.parametrize("stream", [True, False])
async def test_a_model_that_hangs_leaves_time_for_the_one_after_it(stream: bool) -> None:
    world = World()
    await world.ask(stream=stream, headers={"x-pointsman-deadline-ms": "4000"})
    limits = world.models.asked[0][2]
    assert limits.first_text_s == limits.idle_s == 2.0
    assert limits.total_s == (4.0 if stream else 3.0)


async def test_the_row_of_a_request_has_no_text_and_a_failed_reply_is_redacted() -> None:
    world = World({"a": [looped("My secret start")]})
    await world.ask()
    (row,) = world.log.calls
    assert (row.route, row.served_model, row.fallback, row.status, row.tokens_out) == ("main", "a", "spare", 200, 10)
    (failed,) = world.log.failed
    assert (failed.model, failed.fault, failed.fingerprint) == ("a", "repetition_detected", "0000000000000007")
    assert "13812345678" not in failed.excerpt
    assert "[phone]" in failed.excerpt
    assert "secret" not in repr(row)


async def test_no_text_is_kept_when_the_setting_forbids_it() -> None:
    world = World({"a": [looped("My secret start")]}, policy=RouterPolicy(excerpt_chars=0))
    await world.ask()
    assert world.log.failed[0].excerpt == ""


async def test_a_recovering_model_gets_a_live_call_only_by_permit_and_settles_it() -> None:
    world = World(levels={"a": Level.RECOVERING})
    permit = FakePermit()
    world.guard.grants = permit
    for _ in range(600):
        await world.ask()
    asked = world.asked.count("a")
    assert 1 <= asked <= 15
    assert permit.settled == [True] * asked


async def test_repetition_a_request_wants_is_not_counted_against_the_model() -> None:
    world = World({"a": [looped()]})
    await world.ask(headers={"x-pointsman-allow-repetition": "true"})
    assert world.guard.outcomes[0] == "a:not_counted"
    assert world.models.asked[0][1].repetition_allowed


async def test_a_call_log_that_fails_does_not_fail_the_request(caplog: pytest.LogCaptureFixture) -> None:
    world = World()

    def broken(row: object) -> None:
        raise OSError("disk full")

    world.log.add_call = broken  # type: ignore[method-assign]
    assert (await world.ask()).status_code == 200
    assert "disk full" in caplog.text


@pytest.mark.parametrize("stream", [True, False])
async def test_a_lone_model_that_asks_to_wait_less_than_the_deadline_is_asked_again_then(stream: bool) -> None:
    busy = Says(fault=Fault.RATE_LIMITED, status=429, text="", retry_after_s=2.0)
    world = World({"a": [busy, Says()]}, names=("a",), spares=(), when_down=WhenDown.ERROR)
    asking = asyncio.create_task(world.ask(stream=stream))
    await until(lambda: world.clock.sleeping)
    assert world.asked == ["a"]
    await world.clock.advance(2.1)
    response = await asking
    assert (response.status_code, world.asked) == (200, ["a", "a"])


@pytest.mark.parametrize(
    ("wait_s", "when_down", "status"),
    [(900.0, WhenDown.ERROR, 503), (2.0, WhenDown.PHRASE, 200)],
)
async def test_a_wait_beyond_the_deadline_or_with_a_phrase_at_hand_is_not_waited_for(
    wait_s: float, when_down: WhenDown, status: int
) -> None:
    busy = Says(fault=Fault.RATE_LIMITED, status=429, text="", retry_after_s=wait_s)
    world = World({"a": [busy]}, names=("a",), spares=(), when_down=when_down)
    response = await world.ask()
    assert (response.status_code, world.asked, world.clock.sleeping) == (status, ["a"], 0)


async def test_a_model_that_asks_to_wait_again_and_again_is_asked_four_times() -> None:
    busy = Says(fault=Fault.RATE_LIMITED, status=429, text="", retry_after_s=2.0)
    world = World({"a": [busy]}, names=("a",), spares=(), when_down=WhenDown.ERROR)
    asking = asyncio.create_task(world.ask())
    for _ in range(3):
        await until(lambda: world.clock.sleeping)
        await world.clock.advance(2.1)
    response = await asking
    assert (response.status_code, response.headers["retry-after"], world.asked) == (503, "2", ["a"] * 4)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_request_waits_for_the_open_model_that_returns_inside_its_deadline_and_asks_it_by_permit(
    stream: bool,
) -> None:
    quiet = RouterPolicy(shadow_probes=False)
    world = World(levels=dict.fromkeys("abc", Level.OPEN), policy=quiet, when_down=WhenDown.ERROR)
    world.guard.until = {"b": world.clock.now_s() + 42.0}
    asking = asyncio.create_task(world.ask(stream=stream))
    await until(lambda: world.clock.sleeping)
    await world.clock.advance(41.9)
    assert (world.asked, asking.done()) == ([], False)
    world.guard.at["b"] = Level.RECOVERING
    await world.clock.advance(0.2)
    assert (world.asked, asking.done()) == ([], False), "no permit yet"
    world.guard.grants = FakePermit()
    await world.clock.advance(1.0)
    response = await asking
    assert (response.status_code, world.asked, world.guard.grants.settled) == (200, ["b"], [True])


async def test_nobody_waits_for_an_open_model_where_a_phrase_answers_at_once() -> None:
    world = World(levels=dict.fromkeys("abc", Level.OPEN))
    world.guard.until = {"b": world.clock.now_s() + 2.0}
    response = await world.ask()
    assert (response.headers["x-pointsman-fallback"], world.clock.sleeping) == ("phrase", 0)


async def test_who_waits_in_vain_is_told_so_before_the_deadline_ends() -> None:
    world = World(levels=dict.fromkeys("abc", Level.OPEN), when_down=WhenDown.ERROR, deadline_s=10.0)
    world.guard.until = {"b": world.clock.now_s() + 2.0}
    asking = asyncio.create_task(world.ask())
    await until(lambda: world.clock.sleeping)
    world.guard.at["b"] = Level.RECOVERING
    await world.clock.advance(10.0)
    assert ((await asking).status_code, world.asked) == (503, [])


async def test_over_its_cap_of_attempts_a_model_is_passed_over_and_asked_again_when_one_has_ended() -> None:
    world = World({"a": [Says(hang=True)]}, spares=())
    models = world.deps.topology.models
    models["a"] = replace(models["a"], max_concurrent=1)  # type: ignore[index]
    hanging = asyncio.create_task(world.ask())
    await until(lambda: world.asked)
    assert (await world.ask()).headers["x-pointsman-model"] == "b"
    assert world.asked == ["a", "b"]
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)
    world.models.scripts["a"].append(Says())
    world.models.scripts["a"].popleft()
    assert (await world.ask()).headers["x-pointsman-model"] == "a"
    assert world.deps.load.under_way("a") == 0


async def test_when_every_model_is_at_its_cap_the_client_is_told_to_come_back() -> None:
    world = World({"a": [Says(hang=True)]}, names=("a",), spares=(), when_down=WhenDown.ERROR)
    models = world.deps.topology.models
    models["a"] = replace(models["a"], max_concurrent=1)  # type: ignore[index]
    hanging = asyncio.create_task(world.ask())
    await until(lambda: world.asked)
    response = await world.ask()
    assert (response.status_code, response.headers["retry-after"], world.asked) == (503, "5", ["a"])
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)


@pytest.mark.parametrize(("unread_s", "outcome"), [(0.09, "a:not_counted"), (0.01, "a:failed")])
async def test_a_client_that_takes_nothing_until_the_time_is_up_is_no_failure_of_the_model(
    unread_s: float, outcome: str
) -> None:
    late = down(Fault.TIMEOUT_TOTAL, unread_s=unread_s)
    world = World({"a": [late]}, names=("a",), spares=())
    await world.ask()
    assert world.guard.outcomes == [outcome]
