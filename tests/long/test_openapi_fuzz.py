"""Schemathesis draws requests from our own OpenAPI document, right ones and wrong ones; the answers must be as it says.

It stands in an environment of its own (`make test-long` makes it): its pytest plug-in must not ride along in every test.
"""

import asyncio
import json
from pathlib import Path

import pytest

from pointsman.demo.scripted import ScriptedUpstream
from router.api import OPENAPI
from tests.support.service import running, settings_file

TOOL = Path(__file__).parents[2] / ".venv-audit" / "bin" / "schemathesis"
# Not among them: whether wrong data is refused (unknown headers and fields are let through on purpose).
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_requests_drawn_from_the_document_are_answered_as_it_says(tmp_path: Path) -> None:
    if not TOOL.exists():
        pytest.skip("NOT RUN: schemathesis, `make test-long` could not install it")
    document = json.loads(OPENAPI)
    for path in ("/v1/responses", "/v1/messages"):
        del document["paths"][path]
    for name in ("ChatRequest", "TextRequest", "EmbeddingsRequest"):
        # A route that exists: most drawn names would end in 404 before anything else is looked at.
        document["components"]["schemas"][name]["properties"]["model"] = {"enum": ["chat"]}
    # A deadline of a millisecond and no phrase is an honest 503.
    document["components"]["parameters"]["DeadlineMs"]["schema"]["minimum"] = 20_000
    schema = tmp_path / "openapi.json"
    schema.write_text(json.dumps(document))
    async with ScriptedUpstream() as upstream, running(settings_file(tmp_path, upstream.base_url)) as service:
        process = await asyncio.create_subprocess_exec(
            *(str(TOOL), "run", str(schema), "--url", service.url, "--checks", CHECKS, "--max-examples", "60"),
            *("--seed", "7", "--suppress-health-check", "all"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await process.communicate()
    assert process.returncode == 0, told.decode()[-6_000:]
