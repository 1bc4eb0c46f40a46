"""Spans to OpenTelemetry: an extra, off unless the settings say otherwise.

Acts: hands finished spans to the SDK, whose own thread sends them; where to is said by the standard OTEL_* variables.
In:  SpanRecords of one request.  Out: spans.  Raises StartError when the extra is not installed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pointsman.assemble import StartError
from router.ports import SpanKind, SpanRecord, Traces

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

HOW = "traces are on, but OpenTelemetry is not installed: pip install 'pointsman[otel]', or set `traces: false`"


class OtelTraces:
    """Each request's spans, one trace; continues the client's own trace where it sent `traceparent`."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("pointsman")
        self._propagator = TraceContextTextMapPropagator()

    def told(self, spans: Sequence[SpanRecord], traceparent: str) -> None:
        from opentelemetry import trace

        context = self._propagator.extract({"traceparent": traceparent}) if traceparent else None
        for at, record in enumerate(spans):
            span = self._tracer.start_span(
                record.name,
                context=context,
                kind=trace.SpanKind.SERVER if record.kind is SpanKind.SERVER else trace.SpanKind.CLIENT,
                attributes=dict(record.attributes),
                start_time=int(record.begun_at * 1e9),
            )
            if record.error:
                span.set_attribute("error.type", record.error)
                span.set_status(trace.StatusCode.ERROR)
            span.end(end_time=int(record.ended_at * 1e9))
            if at == 0:
                context = trace.set_span_in_context(span, context)

    def close(self) -> None:
        """Send what is left; at most the SDK's own time-out."""
        self._provider.shutdown()


def open_traces() -> OtelTraces:
    """Traces over OTLP. Raises StartError."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise StartError(HOW) from error
    provider = TracerProvider(resource=Resource.create({"service.name": "pointsman"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return OtelTraces(provider)


_traces: type[Traces] = OtelTraces
