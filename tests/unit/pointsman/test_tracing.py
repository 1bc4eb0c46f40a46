"""Requests as spans, read back from the SDK's own exporter; and nothing at all while traces are off."""

import json
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import router.journey
from base.faults import Fault
from pointsman.assemble import StartError
from pointsman.tracing import OtelTraces, open_traces
from tests.support.router_world import Says, World, down, looped

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def traced(world: World) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    world.deps.traces = OtelTraces(provider)
    return exporter


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def spans(exporter: InMemorySpanExporter) -> Sequence[ReadableSpan]:
    return exporter.get_finished_spans()


@pytest.mark.parametrize("stream", [True, False])
async def test_a_request_is_one_trace_with_a_span_for_each_call(stream: bool) -> None:
    world = World({"a": [looped("again", pieces=[])], "a2": [Says(text="fine")]})
    exporter = traced(world)
    answer = await world.ask(stream=stream, temperature=0.5, max_tokens=9)
    whole, first, second = spans(exporter)
    assert whole.name == "chat main" and whole.kind is SpanKind.SERVER and whole.parent is None
    told = attributes(whole)
    assert told["gen_ai.operation.name"] == "chat" and told["gen_ai.request.model"] == "main"
    assert (told["gen_ai.request.temperature"], told["gen_ai.request.max_tokens"]) == (0.5, 9)
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (20, 10)
    assert told["pointsman.fallback"] == "spare" and told["pointsman.request_id"] == answer.headers["x-request-id"]
    assert first.name == second.name == "chat a" and first.kind is SpanKind.CLIENT
    for child in (first, second):
        assert child.parent is not None and whole.context is not None
        assert (child.parent.span_id, child.parent.trace_id) == (whole.context.span_id, whole.context.trace_id)
    assert attributes(first)["error.type"] == "repetition_detected" and first.status.status_code is StatusCode.ERROR
    assert attributes(first)["pointsman.loop_class"] == "phrase_loop"
    assert "error.type" not in attributes(second) and attributes(second)["gen_ai.provider.name"] == "v-a"


async def test_the_clients_own_trace_is_continued() -> None:
    world = World()
    exporter = traced(world)
    await world.ask(headers={"traceparent": PARENT})
    whole = spans(exporter)[0]
    assert whole.parent is not None and f"{whole.parent.span_id:016x}" == "b7ad6b7169203331"
    assert whole.context is not None and f"{whole.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize("junk", ["", "nonsense", "00-0-0-0", "\x7f" * 300])
async def test_a_header_that_is_no_trace_begins_one(junk: str) -> None:
    world = World()
    exporter = traced(world)
    assert (await world.ask(headers={"traceparent": junk})).status_code == 200
    assert spans(exporter)[0].parent is None


async def test_a_request_that_nobody_could_answer_is_an_error_and_an_embedding_has_its_own_name() -> None:
    world = World({n: [down(Fault.CONNECT_FAILED)] for n in ("a", "a2", "b", "c")})
    exporter = traced(world)
    body = json.dumps({"model": "main", "input": "x"})
    assert (await world.request("POST", "/v1/embeddings", content=body)).status_code == 503
    whole = spans(exporter)[0]
    assert whole.name == "embeddings main" and whole.status.status_code is StatusCode.ERROR
    assert attributes(whole)["error.type"] == "all_models_unavailable"


async def test_no_word_of_prompt_or_reply_is_in_a_span() -> None:
    world = World({"a": [Says(text="the secret reply")]})
    exporter = traced(world)
    await world.ask(messages=[{"role": "user", "content": "the secret prompt"}], user="the secret user")
    assert "secret" not in "".join(span.to_json() for span in spans(exporter))


async def test_while_traces_are_off_no_span_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(*_: object) -> None:
        raise AssertionError("a span was built")

    monkeypatch.setattr(router.journey, "spans_of", built)
    assert (await World().ask()).status_code == 200


def test_traces_without_the_extra_stop_the_start_and_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(StartError, match=r"pip install 'pointsman\[otel\]'"):
        open_traces()
