"""A Python client, made of the schema: one method for each operation, with its parameters and what it says of itself."""

from __future__ import annotations

import keyword
from typing import Any

HEAD = '''"""Client of the Steelyard API, version {version}. Made by `manage.py api_client`; do not edit.

    with Steelyard("https://steelyard.example", token="sty_…") as api:
        for run in api.every(api.api_runs, from_on="2026-06-01", to_on="2026-06-30"):
            print(run["job_id"], run["milligpu_seconds"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx


class Problem(Exception):
    """A refusal: `status`, and `problem` as the API said it (RFC 9457)."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{{status}} {{problem.get('title', '')}}: {{problem.get('detail', '')}}")
        self.status = status
        self.problem = problem


class Steelyard:
    """The API of one installation. `http`: a client of one's own, for proxies or certificates."""

    def __init__(self, address: str, *, token: str = "", language: str = "en", http: httpx.Client | None = None) -> None:
        self._http = http or httpx.Client(timeout=60)
        self._address = address.rstrip("/")
        self._headers = {{"Accept-Language": language}}
        if token:
            self._headers["Authorization"] = f"Bearer {{token}}"

    def __enter__(self) -> Steelyard:
        return self

    def __exit__(self, *fault: object) -> None:
        self._http.close()

    def every(self, listing: Callable[..., dict[str, Any]], **given: Any) -> Iterator[dict[str, Any]]:
        """All rows of a list, page by page."""
        while True:
            page = listing(**given)
            yield from page["rows"]
            if page["next"] is None:
                return
            given["cursor"] = page["next"]

    def _ask(
        self, method: str, path: str, query: dict[str, Any], headers: dict[str, Any], body: Any = None, kind: str = ""
    ) -> Any:
        shown = {{name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}}
        content = {{"json": body}} if kind == "application/json" else {{"content": body}} if kind else {{}}
        more = {{name: value for name, value in headers.items() if value is not None}}
        if kind and kind != "application/json":
            more["Content-Type"] = kind
        answer = self._http.request(
            method,
            self._address + path,
            params={{name: value for name, value in shown.items() if value is not None}},
            headers={{**self._headers, **more}},
            **content,
        )
        if answer.status_code >= 400:
            raise Problem(answer.status_code, answer.json())
        return answer.json()
'''


def source(schema: dict[str, Any]) -> str:
    """The client's module."""
    parts = [HEAD.format(version=schema["info"]["version"])]
    for path, methods in sorted(schema["paths"].items()):
        parts += [_method(path, method, operation) for method, operation in sorted(methods.items())]
    return "\n".join(parts)


def _method(path: str, method: str, operation: dict[str, Any]) -> str:
    parameters = operation.get("parameters", [])
    places = [one for one in parameters if one["in"] == "path"]
    named = [one for one in parameters if one["in"] != "path"]
    kinds = list(operation.get("requestBody", {}).get("content", {}))
    kind = kinds[0] if kinds else ""
    arguments = ["self", *(f"{_word(one)}: {_type(one['schema'])}" for one in places)]
    if kind:
        arguments.append("body: Any")
    if named:
        arguments.append("*")
    arguments += [f"{_word(one)}: {_type(one['schema'])}" for one in named if one.get("required")]
    arguments += [f"{_word(one)}: {_type(one['schema'])} | None = None" for one in named if not one.get("required")]
    address = f"f{_spelled(path)}" if places else repr(path)
    for one in places:
        address = address.replace("{" + one["name"] + "}", f"{{quote(str({_word(one)}), safe='')}}")
    sent = {
        where: ", ".join(f"{one['name']!r}: {_word(one)}" for one in named if one["in"] == where)
        for where in ("query", "header")
    }
    call = f"self._ask({method.upper()!r}, {address}, {{{sent['query']}}}, {{{sent['header']}}}"
    call += f", body, {kind!r})" if kind else ")"
    lines = [
        f"    def {operation['operationId']}({', '.join(arguments)}) -> Any:",
        f"        {_said(operation)}",
        f"        return {call}",
    ]
    return "\n" + "\n".join(lines) + "\n"


def _said(operation: dict[str, Any]) -> str:
    return repr(f"{operation['summary']}. {operation.get('description', '')}".strip())


def _spelled(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _word(parameter: dict[str, Any]) -> str:
    name: str = parameter["name"].replace("-", "_").lower()
    return f"{name}_" if keyword.iskeyword(name) else name


def _type(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    words = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
    return " | ".join(words.get(str(one), "Any") for one in kinds)
