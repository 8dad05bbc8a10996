"""What a file says of itself: of what it is, how far the figures reach, what they mean, who made it when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from billing.ledger.reads import through
from governance.access.actor import Actor
from governance.usage.metrics import reads as metrics
from portal import formats

from .sources.asked import zone
from .table import Form, Table, Value, Words

Entry = tuple[Words, Value, Form]


@dataclass(frozen=True)
class About:
    """Headings with their entries; `sentence` stands in the file's properties."""

    parts: Sequence[tuple[Words, Sequence[Entry]]]
    sentence: str
    zone: ZoneInfo


def about(table: Table, actor: Actor, now: datetime | None = None) -> About:
    """Of the table, for this reader, now."""
    clock, now = zone(), now or timezone.now()
    reached = through()
    title = settings.TITLE or _("Compute Governance Portal")
    made = formats.at_second(now, clock)
    facts: list[Entry] = [
        (_("What it is"), str(table.title), Form.TEXT),
        *((word, value, Form.TEXT) for word, value in table.filters),
        (_("Data through"), formats.at(reached, clock) if reached else _("No data yet"), Form.TEXT),
        (_("Time zone"), clock.key, Form.TEXT),
        (_("Made at"), made, Form.TEXT),
        (_("Made for"), actor.name, Form.TEXT),
        (_("Made by"), str(title), Form.TEXT),
    ]
    defined: list[Entry] = []
    for row in metrics.definitions() if table.metrics else []:
        if row.code in table.metrics:
            word = f"{metrics.name_of(row)} ({row.code})"
            words = _("%(formula)s Version %(version)s.") % {
                "formula": metrics.formula_of(row),
                "version": row.version,
            }
            defined.append((word, words, Form.TEXT))
    columns: list[Entry] = [(column.title, column.code, Form.TEXT) for column in table.columns]
    parts: list[tuple[Words, Sequence[Entry]]] = [
        (_("About this file"), facts),
        (_("Totals"), list(table.totals())),
        (_("Columns, with their names in CSV files"), columns),
        (_("What the figures mean"), defined),
    ]
    sentence = _("%(title)s, made for %(who)s at %(at)s.") % {"title": title, "who": actor.name, "at": made}
    return About([(heading, entries) for heading, entries in parts if entries], sentence, clock)
