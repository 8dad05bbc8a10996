"""What may stand behind the `?` of an address: named, typed, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.errors import N_, BadData

MOST_ROWS = 500
ROWS = 100

UNKNOWN_PARAMETER = N_("“%(name)s” is no parameter here. Known are: %(known)s.")
TWICE = N_("“%(name)s” is given more than once.")


def text(help_text: Any = "", **more: Any) -> serializers.CharField:
    """An optional filter by a text, taken as it is."""
    given = {"required": False, "allow_blank": True, "trim_whitespace": False, "max_length": 200}
    return serializers.CharField(help_text=help_text, **{**given, **more})


class Query(serializers.Serializer[Any]):
    """The parameters of a door; one that is not named here is refused in words."""


class Sparse(Query):
    """Parameters of a door whose answer may be cut down to some fields."""

    def get_fields(self) -> dict[str, Any]:
        """With `fields`, which a serializer cannot have as an attribute of its class."""
        found: dict[str, Any] = super().get_fields()
        found["fields"] = text(_("Only these fields of each row, separated by commas."), max_length=1000)
        return found


class Paged(Sparse):
    """Parameters of a list."""

    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_ROWS, help_text=_("Rows of a page; 100 where nothing is said.")
    )
    cursor = text(_("Where the page begins: “next” of the page before."), max_length=2000)


def parsed(kind: type[Query], given: Any) -> dict[str, Any]:
    """The parameters of a request, checked. Raises BadData for an unknown one, ValidationError for a bad one."""
    # As plain data: of a form's data an empty value would count as none, and a box that is missing as not ticked.
    asked = kind(data=dict(given.items()))
    for name in given:
        if name not in asked.fields:
            raise BadData(UNKNOWN_PARAMETER, name=name[:100], known=", ".join(asked.fields))
        if len(given.getlist(name)) > 1:
            raise BadData(TWICE, name=name)
    asked.is_valid(raise_exception=True)
    return dict(asked.validated_data)


def narrowed(rows: QuerySet[Any], asked: Mapping[str, Any], columns: Mapping[str, str]) -> QuerySet[Any]:
    """The rows that have what was asked for; `columns`: parameter -> lookup."""
    return rows.filter(**{columns[name]: asked[name] for name in columns if name in asked})
