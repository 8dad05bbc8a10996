"""The door of the organisation: the same document that `dump_organisation` writes and `load_organisation` reads."""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from governance.access.actor import Actor
from governance.doors import etags
from governance.doors.door import NOTHING, OneDoor, WriteDoor
from governance.doors.query import Query
from governance.errors import N_, BadData, NotFound
from portal.organisation import document
from portal.organisation.actions import load
from portal.organisation.dump import dump
from portal.organisation.plan import as_data

OTHER = N_("The organisation has changed since you read it. Read it again and decide again.")


class OrganisationOut(serializers.Serializer[Any]):
    """The document."""

    document = serializers.DictField(help_text=_("In the form of an organisation file."))


class OrganisationIn(serializers.Serializer[Any]):
    """A document to load."""

    document = serializers.DictField(help_text=_("In the form of an organisation file."))


class ChangeRow(serializers.Serializer[Any]):
    """A line of the plan."""

    verb = serializers.ChoiceField(choices=("add", "change", "end", "remove"))
    kind = serializers.CharField()
    key = serializers.CharField()
    before = serializers.JSONField(help_text=_("Null where there was nothing."))
    after = serializers.JSONField(help_text=_("Null where nothing is left."))


class PlanOut(serializers.Serializer[Any]):
    """What was changed, or would be."""

    dry_run = serializers.BooleanField()
    counts = serializers.DictField(child=serializers.IntegerField())
    changes = ChangeRow(many=True)


class LoadQuery(Query):
    """How to load."""

    dry_run = serializers.BooleanField(required=False, help_text=_("Show the plan and write nothing."))
    prune_on = serializers.DateField(required=False, help_text=_("End on this day what the document leaves out."))


class OrganisationDoor(WriteDoor, OneDoor):
    """Read it, load it."""

    name = "api-organisation"
    title = _("The organisation")
    says = _(
        "Departments, projects, people, clusters, mappings and prices in one document. Loading it twice changes nothing;"
        " with If-Match it is loaded only where nothing has changed since it was read."
    )
    query, out = Query, OrganisationOut
    options, takes, result, takes_etag = LoadQuery, OrganisationIn, PlanOut, True
    capability = "organisation.change"

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who may change it: it names people."""
        if not actor.may("organisation.change"):
            raise NotFound(NOTHING)

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """As the command dumps it."""
        return {"document": document.read(dump(actor=actor)).content}

    def get(self, request: Request, **where: Any) -> Response:
        """With a digest of the content, which a load compares."""
        response = super().get(request, **where)
        response["ETag"] = _etag(self.actor)
        return response

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By the action of the command."""
        etags.want(self.request, lambda: _etag(actor), OTHER)
        dry_run = bool(asked.get("dry_run"))
        content = given["document"]
        if not content:
            raise BadData(N_("The document is empty."))
        found = as_data(load(content, actor=actor, dry_run=dry_run, prune_on=asked.get("prune_on")))
        return {"dry_run": dry_run, "counts": found["counts"], "changes": found["changes"]}


def _etag(actor: Actor) -> str:
    content = json.dumps(document.read(dump(actor=actor)).content, sort_keys=True, default=str)
    return etags.etag(content)
