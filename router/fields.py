"""The fields of a request that we know, each checked by itself. Pure; raises BadRequest, which names the field and the fix.

What a model may know better (values of vendors, fields of theirs) passes; what no model can read is refused here, so
that a mistake costs its author one clear answer and not four attempts.
"""

from collections.abc import Mapping
from typing import Any

from detector.schema import schema_problem
from router.errors import BadRequest

_NUMBERS: Mapping[str, tuple[float, float]] = {
    "temperature": (0.0, 2.0),
    "top_p": (0.0, 1.0),
    "frequency_penalty": (-2.0, 2.0),
    "presence_penalty": (-2.0, 2.0),
    "min_p": (0.0, 1.0),
    "repetition_penalty": (0.0, 10.0),
}
_COUNTS: Mapping[str, tuple[int, int | None]] = {
    "max_tokens": (1, None),
    "max_completion_tokens": (1, None),
    "top_logprobs": (0, 20),
    "dimensions": (1, None),
}
_KINDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "stream": (bool, "true or false"),
    "tools": (list, "a list"),
    "tool_choice": ((str, dict), "a string or an object"),
    "parallel_tool_calls": (bool, "true or false"),
    "stream_options": (dict, "an object"),
    "response_format": (dict, "an object"),
    "user": (str, "a string"),
    "stop": ((str, list), "a string or a list of strings"),
    "seed": (int, "a whole number"),
    "logprobs": ((bool, int), "true or false"),
    "logit_bias": (dict, "an object of token ids and numbers"),
    "metadata": (dict, "an object"),
    "reasoning_effort": (str, "a string"),
    "service_tier": (str, "a string"),
    "modalities": (list, "a list of strings"),
    "suffix": (str, "a string"),
    "echo": (bool, "true or false"),
    "encoding_format": (str, "a string"),
}


def check_fields(body: Mapping[str, Any]) -> None:
    """Raises BadRequest for the first field of a kind or a size that nobody can read."""
    n = body.get("n")
    if n is not None and (n != 1 or isinstance(n, bool)):
        raise BadRequest("`n` must be 1: send one request for each reply wanted", param="n")
    for name, value in body.items():
        if value is None:
            continue
        if (limits := _NUMBERS.get(name)) is not None:
            low, high = limits
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise BadRequest(f"`{name}` must be a number from {low:g} to {high:g}", param=name)
        elif (bounds := _COUNTS.get(name)) is not None:
            least, most = bounds
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or value < least or (most is not None and value > most):
                told = f"of at least {least}" if most is None else f"from {least} to {most}"
                raise BadRequest(f"`{name}` must be a whole number {told}", param=name)
        elif (wanted := _KINDS.get(name)) is not None:
            kind, what = wanted
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise BadRequest(f"`{name}` must be {what}", param=name)
    _check_inside(body)


def _check_inside(body: Mapping[str, Any]) -> None:
    for name in ("stop", "modalities"):
        value = body.get(name)
        if isinstance(value, list):
            for at, one in enumerate(value):
                if not isinstance(one, str):
                    raise BadRequest(f"`{name}[{at}]` must be a string", param=f"{name}[{at}]")
    for name, bias in (body.get("logit_bias") or {}).items():
        if isinstance(bias, bool) or not isinstance(bias, int | float):
            raise BadRequest(f"`logit_bias.{name[:32]}` must be a number", param="logit_bias")
    wanted = (body.get("stream_options") or {}).get("include_usage")
    if not isinstance(wanted, bool | None):
        raise BadRequest("`stream_options.include_usage` must be true or false", param="stream_options.include_usage")
    if (form := body.get("response_format")) is not None:
        _check_format(form)
    for at, tool in enumerate(body.get("tools") or ()):
        _check_tool(tool, f"tools[{at}]")


def _check_format(form: Mapping[str, Any]) -> None:
    kind = form.get("type")
    if not isinstance(kind, str):
        raise BadRequest(
            "`response_format.type` must be a string: text, json_object or json_schema", param="response_format.type"
        )
    if kind != "json_schema":
        return
    named = form.get("json_schema")
    if not isinstance(named, dict):
        raise BadRequest(
            "`response_format.json_schema` must be an object with `name` and `schema`",
            param="response_format.json_schema",
        )
    schema, param = named.get("schema"), "response_format.json_schema.schema"
    if not isinstance(schema, dict | None):
        raise BadRequest(f"`{param}` must be a JSON Schema object", param=param)
    if schema and (problem := schema_problem(schema)) is not None:
        raise BadRequest(f"`{param}` cannot be applied: {problem[:300]}", param=param)


def _check_tool(tool: Any, param: str) -> None:
    if not isinstance(tool, dict):
        raise BadRequest(f"`{param}` must be an object such as {{type: function, function: {{name}}}}", param=param)
    if not isinstance(tool.get("type"), str):
        raise BadRequest(f"`{param}.type` must be a string such as function", param=f"{param}.type")
    function = tool.get("function")
    if function is None:
        return  # a vendor's own kind of tool
    if not isinstance(function, dict):
        raise BadRequest(f"`{param}.function` must be an object with `name`", param=f"{param}.function")
    if not isinstance(function.get("name"), str):
        raise BadRequest(f"`{param}.function.name` must be a string", param=f"{param}.function.name")
    if not isinstance(function.get("parameters"), dict | bool | None):
        raise BadRequest(
            f"`{param}.function.parameters` must be a JSON Schema object", param=f"{param}.function.parameters"
        )
