"""Errors of the doors as problems (RFC 9457), in the reader's language."""

from __future__ import annotations

import math
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpResponse
from rest_framework import exceptions

from governance.errors import DomainError
from portal.errors import WORDS, answer, details


def answer_to(fault: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """The problem for an error that is the caller's to know; None for one of our own, which Django logs and answers."""
    request = context["request"]._request
    if isinstance(fault, DomainError):
        response = answer(request, fault.status if fault.status in WORDS else 422, details(fault))
    elif isinstance(fault, exceptions.ValidationError):
        errors = list(_named(fault.detail))
        sentences = [f"{one['name']}: {one['words']}" if one["name"] else one["words"] for one in errors]
        response = answer(request, 422, sentences, errors=errors)
    elif isinstance(fault, exceptions.APIException):
        response = answer(request, fault.status_code if fault.status_code in WORDS else 400)
    elif isinstance(fault, Http404):
        response = answer(request, 404)
    elif isinstance(fault, PermissionDenied):
        response = answer(request, 403)
    elif isinstance(fault, RequestDataTooBig):
        response = answer(request, 413)
    else:
        return None
    if response.status_code == 401:
        response["WWW-Authenticate"] = "Bearer"
    if isinstance(fault, exceptions.Throttled):
        response["Retry-After"] = str(max(1, math.ceil(fault.wait or 1)))
    if isinstance(fault, exceptions.MethodNotAllowed):
        response["Allow"] = ", ".join(context["view"].allowed_methods)
    return response


def _named(detail: Any, name: str = "") -> Any:
    """Each fault with the name of its parameter or field, however deep it lies."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            own = "" if key == "non_field_errors" else str(key)
            yield from _named(value, ".".join(part for part in (name, own) if part))
    elif isinstance(detail, list):
        for value in detail:
            yield from _named(value, name)
    else:
        yield {"name": name, "words": str(detail)}
