"""The schema: OpenAPI 3.1, made of what the doors say of themselves."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import get_language, gettext, override
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers

from governance.doors.door import Door, ListDoor, OneDoor, WriteDoor

#: What a part of an address is.
PLACES = {
    "code": _("The code of the cluster."),
    "cluster": _("The code of the cluster."),
    "job": _("The job id as the scheduler's accounting has it."),
    "submit": _("The submit time, in seconds since 1970 in UTC."),
    "node": _("The name of the node."),
    "export": _("The id of the export."),
    "quota": _("The number of the quota, such as Q-000123."),
    "pool": _("The code of the pool."),
    "offering": _("The code of the offering."),
    "number": _("The id, as the list has it."),
    "ask": _("The number of the ask, such as A-000123."),
    "case": _("The number of the case, such as R-000123."),
    "rule": _("The code of the rule."),
}
PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "reference": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "words"],
                "properties": {"name": {"type": "string"}, "words": {"type": "string"}},
            },
        },
    },
}


class TokenScheme(OpenApiAuthenticationExtension):
    """A personal token."""

    target_class = "governance.tokens.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """As OpenAPI has it."""
        return {"type": "http", "scheme": "bearer"}


class HookScheme(OpenApiAuthenticationExtension):
    """A submit hook's own token, or a personal one."""

    target_class = "governance.usage.ops.refused.HookAuthentication"
    name = "hook"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """As OpenAPI has it."""
        return {"type": "http", "scheme": "bearer"}


class SessionScheme(OpenApiAuthenticationExtension):
    """A browser's session."""

    target_class = "governance.tokens.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """As OpenAPI has it."""
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}


@cache
def _page_of(row: Any) -> Any:
    fields: dict[str, Any] = {
        "rows": row(many=True),
        "next": serializers.CharField(allow_null=True, help_text=_("The cursor of the next page; null on the last.")),
    }
    return inline_serializer(f"{row.__name__}Page", fields)


class DoorSchema(AutoSchema):
    """What a door's attributes say, as an operation."""

    view: Door

    @property
    def _writes(self) -> bool:
        return self.method == "POST"

    def get_operation_id(self) -> str:
        """The door's name; a door that is read and written has two."""
        view: Any = self.view
        both = isinstance(view, OneDoor | ListDoor) and isinstance(view, WriteDoor)
        return f"{view.name.replace('-', '_')}{f'_{view.verb}' if both and self._writes else ''}"

    def get_tags(self) -> list[str]:
        """The topic in which the door lies."""
        return [type(self.view).__module__.split(".")[-2]]

    def get_summary(self) -> str:
        """The title."""
        return str(self.view.title)

    def get_description(self) -> str:
        """What it says."""
        return str(self.view.says)

    def get_override_parameters(self) -> list[Any]:
        """The parameters of the query, the parts of the address, the headers."""
        view: Any = self.view
        query = view.options if self._writes else view.query
        found: list[Any] = [query] if query().fields else []
        for name in self.path.split("{")[1:]:
            part = name.split("}")[0]
            kind = int if part in {"submit", "number"} else str
            found.append(OpenApiParameter(part, kind, OpenApiParameter.PATH, description=str(PLACES[part])))
        if self._writes:
            words = _("Makes the write happen once: the same key with the same request gets the first answer again.")
            found.append(
                OpenApiParameter(
                    "Idempotency-Key", str, OpenApiParameter.HEADER, description=str(words), pattern="^[!-~]{1,200}$"
                )
            )
            if view.takes_etag:
                words = _("The ETag of what was read; where it has changed since, nothing is written.")
                found.append(
                    OpenApiParameter(
                        "If-Match", str, OpenApiParameter.HEADER, description=str(words), pattern='^"[!#-~]*"$'
                    )
                )
        return found

    def get_request_serializer(self) -> Any:
        """What is sent."""
        view: Any = self.view
        if not self._writes or view.takes is None:
            return None
        return view.takes(many=True) if view.takes_many else view.takes

    def get_response_serializers(self) -> Any:
        """What is answered when it goes well; `finish` adds how it may go otherwise."""
        if self._writes:
            view: Any = self.view
            return {view.success: view.result}
        row: Any = self.view.out
        return {200: _page_of(row) if isinstance(self.view, ListDoor) else row}

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False  # a page is an object

    def get_operation(self, *given: Any) -> Any:
        """With the body of a file, sent or answered, which no serializer can say."""
        found = super().get_operation(*given)
        gives = getattr(self.view, "gives_file", ())
        if found and gives:
            content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in gives}
            found["responses"]["200"] = {"description": str(self.view.title), "content": content}
        kinds = getattr(self.view, "takes_file", ())
        if found and self._writes and kinds:
            body = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in kinds}
            found["requestBody"] = {"required": True, "content": body}
        return found


def finish(result: Any, generator: Any, request: Any, public: bool) -> Any:
    """The refusals that every door has, in one form; rows lose "required", since fewer fields may be asked for."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    words = {
        "401": _("Who asks is not known"),
        "403": _("This is not yours to do"),
        "404": _("There is nothing here for you"),
        "422": _("These data cannot be accepted"),
        "429": _("Too many requests"),
    }
    writing = {
        "400": _("The request could not be understood"),
        "409": _("Not now"),
        "412": _("It has changed meanwhile"),
        "413": _("This is too much at once"),
        "415": _("This kind of content is not taken here"),
    }
    for path in result["paths"].values():
        for method, operation in path.items():
            for status, said in {**words, **(writing if method == "post" else {})}.items():
                operation["responses"][status] = {"description": str(said), "content": problem}
            if method == "get":
                operation["responses"]["304"] = {"description": gettext("You have it already")}
            if any(one["name"] == "fields" for one in operation.get("parameters", ())) and method == "get":
                _named(result, operation["responses"]["200"]).pop("required", None)
            for body in operation.get("requestBody", {}).get("content", {}).values():
                if "$ref" in (shape := body["schema"].get("items", body["schema"])):
                    result["components"]["schemas"][_name(shape)]["additionalProperties"] = False
    return result


def _name(shape: dict[str, Any]) -> str:
    return str(shape["$ref"].rsplit("/", 1)[1])


def _named(result: Any, response: Any) -> Any:
    """The component of which fewer fields may be asked for: the answer's, or that of the rows in it."""
    components = result["components"]["schemas"]
    found = components[_name(response["content"]["application/json"]["schema"])]
    rows = found["properties"].get("rows", {}) if "next" in found["properties"] else {}
    return components[_name(rows["items"])] if rows else found


@lru_cache(maxsize=4)
def document(language: str) -> dict[str, Any]:
    """The schema in a language; it changes with the program alone."""
    with override(language):
        made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return made


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """GET /api/schema/."""
    response = JsonResponse(document(get_language() or "zh-hans"), json_dumps_params={"ensure_ascii": False})
    response["Content-Type"] = "application/vnd.oai.openapi+json; version=3.1"
    return response
