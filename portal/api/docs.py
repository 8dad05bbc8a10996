"""The page that shows the schema: every operation with what it takes and answers, without anything from elsewhere."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from .schema import document

TOPICS: dict[str, Promise] = {
    "tenants": gettext_lazy("Organisation and who asks"),
    "api": gettext_lazy("Whole documents"),
    "catalogue": gettext_lazy("Catalogue"),
    "quotas": gettext_lazy("Quotas and what is offered"),
    "prices": gettext_lazy("Prices"),
    "ledger": gettext_lazy("Compute ledger"),
    "usage": gettext_lazy("Use and capacity"),
    "ops": gettext_lazy("Collection and data quality"),
    "work": gettext_lazy("Background work"),
    "audit": gettext_lazy("Audit"),
}


@login_required
@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """GET /api/docs/."""
    found = document(get_language() or "zh-hans")
    topics: dict[str, list[dict[str, Any]]] = {name: [] for name in TOPICS}
    for address, path in found["paths"].items():
        for method, operation in path.items():
            topics.setdefault(operation["tags"][0], []).append(_shown(found, address, method, operation))
    context = {
        "crumbs": [{"label": _("API")}],
        "origin": request.build_absolute_uri("/")[:-1],
        "topics": [(name, TOPICS.get(name, name), operations) for name, operations in topics.items() if operations],
    }
    return render(request, "portal/api_docs.html", context)


def _shown(found: dict[str, Any], address: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    parameters = operation.get("parameters", [])
    body = operation.get("requestBody", {}).get("content", {})
    good = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    answer = next(iter(good["content"].values()))["schema"]
    return {
        "id": operation["operationId"],
        "address": address,
        "method": method.upper(),
        "summary": operation["summary"],
        "says": operation.get("description", ""),
        "parameters": [{**one, "kind": _kind(one["schema"])} for one in parameters],
        "kinds": [kind for kind in body if kind != "application/x-www-form-urlencoded"],
        "body": [field for one in list(body.values())[:1] for field in _fields(found, one["schema"])],
        "answer": _fields(found, answer),
        "can_open": method == "get" and "{" not in address and not any(one.get("required") for one in parameters),
    }


def _fields(found: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> list[dict[str, Any]]:
    """The fields of an object, with those of the objects in it one step further in."""
    schema = _resolved(found, schema)
    if schema.get("type") == "array":
        return _fields(found, schema["items"], depth)
    rows: list[dict[str, Any]] = []
    for name, one in schema.get("properties", {}).items():
        rows.append(
            {"name": name, "kind": _kind(_resolved(found, one)), "words": one.get("description", ""), "depth": depth}
        )
        inside = _resolved(found, one)
        if depth < 3 and (inside.get("type") == "array" or "properties" in inside):
            rows += _fields(found, inside, depth + 1)
    return rows


def _resolved(found: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    for one in (schema, *schema.get("allOf", ()), *schema.get("oneOf", ())):
        if "$ref" in one:
            named: dict[str, Any] = found["components"]["schemas"][one["$ref"].rsplit("/", 1)[1]]
            return named
    return schema


def _kind(schema: dict[str, Any]) -> str:
    kind = schema.get("type", "")
    names = [name for name in kind if name != "null"] if isinstance(kind, list) else [kind]
    return schema.get("format") or " | ".join(name for name in names if name)
