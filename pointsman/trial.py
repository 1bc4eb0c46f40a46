"""Sends a test prompt to the clients' port, as an app would, and tells what comes back and when."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import httpx

from base.clock import Clock
from console.trial_ports import Prober, Told

TOLD = ("model", "attempts", "verdict", "fallback", "state", "code", "request_id")
WRITTEN_DOWN = frozenset({"internal_error", "shutting_down"})
"""Errors of a request that was admitted, whose answers tell nothing of attempts: each has its row all the same."""


class HttpProber:
    """`url`: the clients' address, asked for anew each time since it is known only once the door is open."""

    def __init__(
        self, client: httpx.AsyncClient, url: Callable[[], str], routes: Callable[[], Sequence[str]], clock: Clock
    ) -> None:
        self._client, self._url, self._routes, self._clock = client, url, routes, clock

    def routes(self) -> Sequence[str]:
        return self._routes()

    async def send(self, route: str, prompt: str, key: str) -> AsyncIterator[Told]:
        began_s = self._clock.monotonic_s()

        def at_ms() -> int:
            return round(self._clock.real_s(self._clock.monotonic_s() - began_s) * 1000)

        body = {"model": route, "stream": True, "messages": [{"role": "user", "content": prompt}]}
        headers = {"authorization": f"Bearer {key}"} if key else {}
        request = self._client.build_request(
            "POST", f"{self._url().rstrip('/')}/v1/chat/completions", json=body, headers=headers
        )
        facts: dict[str, str] = {}
        try:
            answer = await self._client.send(request, stream=True)
            try:
                facts |= _from_headers(answer.headers)
                if answer.status_code != 200:
                    text, code = _refusal(await answer.aread())
                    if "attempts" not in facts and code not in WRITTEN_DOWN:
                        facts["request_id"] = ""  # refused at the door: there is no row behind it
                    yield Told(kind="error", at_ms=at_ms(), text=text, facts={**facts, "code": code})
                    return
                async for line in answer.aiter_lines():
                    text, truth, error = _read(line)
                    facts |= truth
                    if error:
                        yield Told(kind="error", at_ms=at_ms(), text=error, facts=facts)
                        return
                    if text:
                        yield Told(kind="text", at_ms=at_ms(), text=text)
            finally:
                await answer.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            yield Told(kind="error", at_ms=at_ms(), text=f"{type(error).__name__}: {error}"[:300], facts=facts)
            return
        yield Told(kind="end", at_ms=at_ms(), facts=facts)


def _from_headers(headers: Mapping[str, str]) -> dict[str, str]:
    found = {name: headers.get(f"x-pointsman-{name}", "") for name in TOLD if name != "request_id"}
    return {**{name: value for name, value in found.items() if value}, "request_id": headers.get("x-request-id", "")}


def _refusal(body: bytes) -> tuple[str, str]:
    """Message and code of an error in OpenAI's shape; of anything else, its beginning."""
    try:
        error = json.loads(body)["error"]
        return str(error["message"]), str(error.get("code") or "")
    except (ValueError, KeyError, TypeError):
        return body[:300].decode("utf-8", "replace"), ""


def _read(line: str) -> tuple[str, dict[str, str], str]:
    """Text, truth and error of one line of a stream."""
    if not line.startswith("data: {"):
        return "", {}, ""
    data: dict[str, Any] = json.loads(line[6:])
    truth = data.get("pointsman") or {}
    facts = {name: str(truth[name]) for name in TOLD if truth.get(name) not in (None, "")}
    if "error" in data:
        return "", facts, str((data["error"] or {}).get("message", "error"))
    choices = data.get("choices") or [{}]
    return str((choices[0].get("delta") or {}).get("content") or ""), facts, ""


_prober: type[Prober] = HttpProber
