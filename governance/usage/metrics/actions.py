"""Bringing the dictionary file into the database: new versions are added, nothing that stands there is changed."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from django.db import connection, transaction

from governance.access.actor import Actor, require
from governance.audit import actions as audit
from governance.errors import N_, BadData
from governance.usage.models import MetricDefinition

from .entries import Entry, read_entries


@transaction.atomic
def sync_dictionary(actor: Actor, entries: list[Entry] | None = None) -> list[Entry]:
    """Add the versions that the database lacks; answers them. Running it again adds nothing.

    Raises NotAllowed, and BadData where an entry differs from the row of its version: frozen documents stand on that
    row, so a change is a new version.
    """
    require(actor, "organisation.change")
    wanted = read_entries() if entries is None else entries
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('metric_dictionary', 0))")
    there = {(row.code, row.version): row for row in MetricDefinition.objects.all()}
    for entry in wanted:
        if row := there.get((entry.code, entry.version)):
            _require_same(entry, row)
    missing = [entry for entry in wanted if (entry.code, entry.version) not in there]
    if missing:
        MetricDefinition.objects.bulk_create(MetricDefinition(**_columns(entry)) for entry in missing)
        added = [f"{entry.code} {entry.version}" for entry in missing]
        audit.record(actor, "metrics.added", "metric_dictionary", "metrics", after={"entries": added})
    return missing


def _columns(entry: Entry) -> dict[str, Any]:
    return {**asdict(entry), "signed_by": list(entry.signed_by)}


def _require_same(entry: Entry, row: MetricDefinition) -> None:
    wanted = _columns(entry)
    changed = [field.name for field in fields(Entry) if getattr(row, field.name) != wanted[field.name]]
    if changed:
        raise BadData(
            N_(
                "Version %(version)s of the metric “%(code)s” was published with another %(fields)s."
                " A published version is never changed: put it back and add version %(next)s below it."
            ),
            code=entry.code,
            version=entry.version,
            fields=", ".join(changed),
            next=entry.version + 1,
        )
