"""The schema is valid, whole and says everything; a client made of it works against a server."""

from __future__ import annotations

import ast
import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import jsonschema
import pytest
from django.core.management import call_command
from django.db import connections
from django.test import Client

from billing.ledger import reads
from billing.ledger.published import as_json
from governance.access.actor import Actor
from governance.tokens import actions as tokens
from portal.api.schema import document
from portal.api.urls import DOORS
from portal.wsgi import application
from tests.cast import Cast


def refs(value: Any) -> Iterator[str]:
    """Every reference within a schema."""
    if isinstance(value, dict):
        for name, inside in value.items():
            if name == "$ref":
                yield inside
            else:
                yield from refs(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from refs(inside)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_schema_is_openapi_3_1_and_every_component_a_valid_json_schema(language: str) -> None:
    found = document(language)
    assert found["openapi"].startswith("3.1")
    for name, component in found["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(component)
        assert component.get("type") == "object", name


def test_every_reference_leads_somewhere_and_nothing_lies_there_unused() -> None:
    found = document("en")
    named = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert set(refs(found)) == named


def test_every_endpoint_is_described_with_its_parameters_and_its_refusals() -> None:
    found = document("en")
    described = {(path, method) for path, methods in found["paths"].items() for method in methods}
    doors = {
        (f"/api/v1/{address}".replace("<str:", "{").replace("<int:", "{").replace(">", "}"), method)
        for address, door in DOORS
        for method in ("get", "post")
        if hasattr(door, method)
    }
    assert described == doors
    for path, method in described:
        operation = found["paths"][path][method]
        assert operation["summary"] and operation["description"], path
        assert all(one["description"] for one in operation.get("parameters", ())), path
        assert {"401", "403", "404", "422", "429"} <= operation["responses"].keys()
        assert operation["security"], path
    identities = [one["operationId"] for methods in found["paths"].values() for one in methods.values()]
    assert len(set(identities)) == len(identities)


@pytest.mark.django_db
def test_the_schema_is_served_without_signing_in_and_the_page_loads_nothing_from_elsewhere(cast: Cast) -> None:
    answer = Client().get("/api/schema/")
    assert answer.json()["paths"].keys() == document("en")["paths"].keys()
    page = cast.client("member").get("/api/docs/")
    body = page.content.decode()
    assert "http" not in body.replace("http://testserver/api/v1/me", "")
    assert all(path in body for path in document("en")["paths"])
    assert "unsafe" not in page["Content-Security-Policy"]


@pytest.fixture
def client_module(tmp_path: Path) -> ModuleType:
    """The client as the command writes it."""
    path = tmp_path / "steelyard_client.py"
    call_command("api_client", str(path))
    ast.parse(path.read_text("utf-8"))
    spec = importlib.util.spec_from_file_location("steelyard_client", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server(cast: Cast, one_connection: None) -> Iterator[str]:
    """A server on a port of this machine that sees what the test has written."""
    connection = connections["default"]
    connection.inc_thread_sharing()

    def within_the_test(environ: dict[str, Any], start: Any) -> Any:
        connections["default"] = connection
        return application(environ, start)

    class Quiet(WSGIRequestHandler):
        def log_message(self, *said: Any) -> None:
            """Not into the test's output."""

    with make_server("127.0.0.1", 0, within_the_test, handler_class=Quiet) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join()
    connection.dec_thread_sharing()


@pytest.mark.django_db
def test_a_generated_client_reads_writes_and_is_refused_in_words(
    cast: Cast, server: str, client_module: ModuleType
) -> None:
    def api(who: str) -> Any:
        _token, secret = tokens.issue("client", ["read", "write"], 1, actor=Actor.of(cast.people[who]))
        return client_module.Steelyard(server, token=secret)

    with api("finance") as asked:
        statement = asked.api_ledger_statement(period="2026-06", by="department")
        assert statement == as_json(reads.statement("2026-06", ("department",), actor=cast.actor("finance")))
        lines = list(asked.every(asked.api_ledger_lines, period="2026-06", limit=3))
        assert lines == asked.api_ledger_lines(period="2026-06")["rows"]
        assert len(lines) > 3
        run = next(asked.every(asked.api_runs, from_on="2026-06-01", to_on="2026-06-30"))
        detail = asked.api_run(run["cluster"], run["job_id"], run["submit"])
        assert sum(day["milligpu_seconds"] for day in detail["days"]) == run["milligpu_seconds"]
    with api("operator") as asked:
        entered = asked.api_node_state(
            "bj", "gpu001", {"state": "repair", "from_at": "2026-07-01T00:00:00Z"}, idempotency_key="once"
        )
        again = asked.api_node_state(
            "bj", "gpu001", {"state": "repair", "from_at": "2026-07-01T00:00:00Z"}, idempotency_key="once"
        )
        assert entered == again
        assert asked.api_nodes(name="gpu001")["rows"][0]["state"] == "repair"
        with pytest.raises(client_module.Problem) as refused:
            asked.api_cluster_pull("bj")
        assert refused.value.status == 409
        assert "no live scheduler" in str(refused.value)
