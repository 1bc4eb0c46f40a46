"""The official Python client. Usage: openai_client.py BASE_URL"""

import sys
from typing import Any

import openai
from story import FORMAT, ROUTE, TOOL, ask, run

client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-any", max_retries=0, timeout=20)


def stream() -> dict[str, Any]:
    chunks = list(
        client.chat.completions.create(
            model=ROUTE, messages=ask("hello"), stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    return {"text": text, "finish": chunks[-2].choices[0].finish_reason, "tokens": chunks[-1].usage.total_tokens}


def tools() -> dict[str, Any]:
    whole = client.chat.completions.create(model=ROUTE, messages=ask("[[tools]]"), tools=[TOOL])
    call = whole.choices[0].message.tool_calls[0].function
    parts = client.chat.completions.create(model=ROUTE, messages=ask("[[tools]]"), tools=[TOOL], stream=True)
    streamed = [c.choices[0].delta.tool_calls[0] for c in parts if c.choices and c.choices[0].delta.tool_calls]
    return {"name": call.name, "arguments": call.arguments, "streamed": streamed[0].function.name}


def errors() -> list[Any]:
    out = []
    for fields in ({"model": "nobody"}, {"model": ROUTE, "temperature": 9}):
        try:
            client.chat.completions.create(**{"messages": ask("hello"), **fields})
        except openai.APIStatusError as error:
            out.append([type(error).__name__, error.status_code, error.code])
    return out


def cancel() -> Any:
    running = client.chat.completions.create(model=ROUTE, messages=ask("[[stall]]"), stream=True)
    first = next(c for c in running if c.choices and c.choices[0].delta.content)
    running.close()
    return first


def said(messages: Any, **more: Any) -> str:
    return client.chat.completions.create(model=ROUTE, messages=messages, **more).choices[0].message.content


run(
    {
        "chat": lambda: said(ask("hello")),
        "stream": stream,
        "tools": tools,
        "structured": lambda: said(ask("[[json]]"), response_format=FORMAT),
        "embeddings": lambda: len(client.embeddings.create(model=ROUTE, input="hello").data[0].embedding),
        "completions": lambda: client.completions.create(model=ROUTE, prompt="hello").choices[0].text,
        "errors": errors,
    },
    cancel,
)
