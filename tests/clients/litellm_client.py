"""litellm as a client. Usage: litellm_client.py BASE_URL"""

import os
import sys
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the web for prices first

import litellm
from story import FORMAT, ROUTE, TOOL, ask, run

REACH = {"api_base": sys.argv[1], "api_key": "sk-any", "num_retries": 0, "max_retries": 0}
litellm.suppress_debug_info = True


def chat(text: str, model: str = ROUTE, **more: Any) -> Any:
    return litellm.completion(model=f"openai/{model}", messages=ask(text), timeout=20, **REACH, **more)


def stream() -> dict[str, Any]:
    chunks = list(chat("hello", stream=True, stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    ends = [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason]
    tokens = [c.usage.total_tokens for c in chunks if getattr(c, "usage", None)]
    return {"text": text, "finish": ends[0], "tokens": tokens[-1]}


def tools() -> dict[str, Any]:
    call = chat("[[tools]]", tools=[TOOL]).choices[0].message.tool_calls[0].function
    parts = [c.choices[0].delta.tool_calls for c in chat("[[tools]]", tools=[TOOL], stream=True) if c.choices]
    return {"name": call.name, "arguments": call.arguments, "streamed": next(p for p in parts if p)[0].function.name}


def errors() -> list[Any]:
    out = []
    for fields in ({"model": "nobody"}, {"temperature": 9}):
        try:
            chat("hello", **fields)
        except litellm.exceptions.APIError as error:
            out.append([type(error).__name__, error.status_code])
        except (litellm.NotFoundError, litellm.BadRequestError) as error:
            out.append([type(error).__name__, error.status_code])
    return out


def cancel() -> Any:
    running = chat("[[stall]]", stream=True)
    first = next(c for c in running if c.choices and c.choices[0].delta.content)
    running.completion_stream.close()
    return first


def completions() -> str:
    reply = litellm.text_completion(model=f"text-completion-openai/{ROUTE}", prompt="hello", **REACH)
    return str(reply.choices[0].text)


run(
    {
        "chat": lambda: chat("hello").choices[0].message.content,
        "stream": stream,
        "tools": tools,
        "structured": lambda: chat("[[json]]", response_format=FORMAT).choices[0].message.content,
        "embeddings": lambda: len(
            litellm.embedding(model=f"openai/{ROUTE}", input=["hello"], **REACH).data[0]["embedding"]
        ),
        "completions": completions,
        "errors": errors,
    },
    cancel,
)
