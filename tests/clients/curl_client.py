"""curl. Usage: curl_client.py BASE_URL"""

import json
import subprocess
import sys
from typing import Any

from story import FORMAT, ROUTE, TOOL, ask, run

CURL = ["curl", "--silent", "--show-error", "--no-buffer", "--max-time", "20", "-H", "content-type: application/json"]


def post(path: str, body: Any, *more: str) -> str:
    done = subprocess.run(
        [*CURL, *more, f"{sys.argv[1]}{path}", "--data-binary", json.dumps(body)],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def chat(text: str, **more: Any) -> Any:
    return json.loads(post("/chat/completions", {"model": ROUTE, "messages": ask(text), **more}))


def events(text: str, **more: Any) -> list[Any]:
    told = post("/chat/completions", {"model": ROUTE, "messages": ask(text), "stream": True, **more})
    lines = [line.removeprefix("data: ") for line in told.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def stream() -> dict[str, Any]:
    got = events("hello", stream_options={"include_usage": True})
    text = "".join(e["choices"][0]["delta"].get("content") or "" for e in got if e["choices"])
    return {"text": text, "finish": got[-2]["choices"][0]["finish_reason"], "tokens": got[-1]["usage"]["total_tokens"]}


def tools() -> dict[str, Any]:
    call = chat("[[tools]]", tools=[TOOL])["choices"][0]["message"]["tool_calls"][0]["function"]
    deltas = [e["choices"][0]["delta"] for e in events("[[tools]]", tools=[TOOL])]
    return {**call, "streamed": next(d["tool_calls"] for d in deltas if "tool_calls" in d)[0]["function"]["name"]}


def errors() -> list[Any]:
    out = []
    for fields in ({"model": "nobody"}, {"temperature": 9}):
        body = {"model": ROUTE, "messages": ask("hello"), **fields}
        text, _, status = post("/chat/completions", body, "--write-out", "\n%{http_code}").rpartition("\n")
        out.append([json.loads(text)["error"]["code"], int(status)])
    return out


def cancel() -> Any:
    body = json.dumps({"model": ROUTE, "messages": ask("[[stall]]"), "stream": True})
    running = subprocess.Popen(
        [*CURL, f"{sys.argv[1]}/chat/completions", "--data-binary", body], stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    first = next(line for line in running.stdout if line.startswith("data: "))
    running.kill()
    running.communicate()
    return first


run(
    {
        "chat": lambda: chat("hello")["choices"][0]["message"]["content"],
        "stream": stream,
        "tools": tools,
        "structured": lambda: chat("[[json]]", response_format=FORMAT)["choices"][0]["message"]["content"],
        "embeddings": lambda: len(
            json.loads(post("/embeddings", {"model": ROUTE, "input": "hello"}))["data"][0]["embedding"]
        ),
        "completions": lambda: json.loads(post("/completions", {"model": ROUTE, "prompt": "hello"}))["choices"][0][
            "text"
        ],
        "errors": errors,
    },
    cancel,
)
