"""langchain-openai. Usage: langchain_client.py BASE_URL"""

import sys
from typing import Any

import openai
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
from story import ROUTE, SCHEMA, TOOL, run

REACH = {"base_url": sys.argv[1], "api_key": "sk-any", "max_retries": 0}
chat = ChatOpenAI(model=ROUTE, timeout=20, **REACH)


def stream() -> dict[str, Any]:
    chunks = list(chat.stream("hello", stream_usage=True))
    ends = [c.response_metadata["finish_reason"] for c in chunks if c.response_metadata.get("finish_reason")]
    tokens = [c.usage_metadata["total_tokens"] for c in chunks if c.usage_metadata]
    return {"text": "".join(c.content for c in chunks), "finish": ends[0], "tokens": tokens[-1]}


def tools() -> dict[str, Any]:
    bound = chat.bind_tools([TOOL])
    call = bound.invoke("[[tools]]").tool_calls[0]
    whole = None
    for chunk in bound.stream("[[tools]]"):
        whole = chunk if whole is None else whole + chunk
    return {"name": call["name"], "arguments": call["args"], "streamed": whole.tool_calls[0]["name"]}


def errors() -> list[Any]:
    out = []
    for asked in (ChatOpenAI(model="nobody", **REACH), ChatOpenAI(model=ROUTE, temperature=9, **REACH)):
        try:
            asked.invoke("hello")
        except openai.APIStatusError as error:
            out.append([type(error).__name__, error.status_code, error.code])
    return out


def cancel() -> Any:
    running = chat.stream("[[stall]]")
    first = next(c for c in running if c.content)
    running.close()
    return first


shaped = chat.with_structured_output({"title": "weather", **SCHEMA}, method="json_schema")
embeddings = OpenAIEmbeddings(model=ROUTE, check_embedding_ctx_length=False, **REACH)
run(
    {
        "chat": lambda: chat.invoke("hello").content,
        "stream": stream,
        "tools": tools,
        "structured": lambda: shaped.invoke("[[json]]"),
        "embeddings": lambda: len(embeddings.embed_query("hello")),
        "completions": lambda: OpenAI(model=ROUTE, **REACH).invoke("hello"),
        "errors": errors,
    },
    cancel,
)
