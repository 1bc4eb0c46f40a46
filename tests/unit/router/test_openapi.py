"""The OpenAPI document says what the router serves, no path more and none less."""

import json

import jsonschema

from router.api import OPENAPI, PATHS, build_app
from router.feedback_wire import FIELDS
from tests.support.router_world import World

DOCUMENT = json.loads(OPENAPI)


def test_every_path_and_method_served_is_described_and_the_other_way_round() -> None:
    app = build_app(World().deps)
    served = {
        (route.path.replace(":path}", "}"), method.lower())
        for route in app.routes
        for method in route.methods
        if method != "HEAD"
    }  # type: ignore[attr-defined]
    served |= {(path, "post") for path in PATHS}
    described = {(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert served == described


def test_its_schemas_are_schemas_and_every_reference_leads_somewhere() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for reference in {part.split('"')[0] for part in OPENAPI.decode().split('"$ref": "#/')[1:]}:
        place = DOCUMENT
        for name in reference.split("/"):
            place = place[name]


def test_feedback_names_only_fields_that_are_read() -> None:
    assert set(DOCUMENT["components"]["schemas"]["Feedback"]["properties"]) <= set(FIELDS)
