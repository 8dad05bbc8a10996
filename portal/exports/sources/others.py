"""Usage by day, unattributed use, the audit trail, nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from billing.ledger.pages import WORDS
from governance.access.actor import Actor
from governance.audit import reads as trail
from governance.catalogue.models import NodeState
from governance.catalogue.reads import installation
from governance.doors.door import NOTHING
from governance.errors import N_, BadData, NotFound
from governance.usage.ops.words import NODE_STATES
from portal.analysis import reads as analysis
from portal.analysis.views import BY, FILTERS, WINDOW_DAYS
from portal.catalogue import shown
from portal.catalogue.estate import estate, spots
from portal.navigation import standing
from portal.quality import reads as quality

from ..table import Column, Form, Table, Value
from .asked import Asked, days, filters_in_words, only, zone

FOUR = Decimal("0.0001")
USAGE = ("from", "to", "by", *FILTERS)
TRAIL = ("who", "action", "kind", "object", "from", "to")
NODES = ("pool", "cluster", "model", "state", "domain", "q")


def settled_usage(asked: Asked, actor: Actor) -> dict[str, str]:
    """With its days written out: those of the page where none are asked for."""
    found = only({"by": "pool", **asked}, USAGE)
    first_on, last_on = days(asked)
    if not (asked.get("from") or asked.get("to")):
        first_on = last_on - timedelta(days=WINDOW_DAYS - 1)
    return {**found, "from": first_on.isoformat(), "to": last_on.isoformat()}


def usage(asked: Asked, actor: Actor) -> Table:
    """Use by day and series. Raises as `analysis.reads.query_of`."""
    by = asked["by"]
    if by not in BY:
        raise BadData(N_("“%(by)s” is nothing to add up by."), by=by)
    first_on, last_on = days(asked)
    filters = {name: asked[name] for name in FILTERS if name in asked}
    found = analysis.use(analysis.query_of(first_on, last_on, by, filters, actor), actor=actor, series=1_000_000)

    def rows() -> Iterator[Sequence[Value]]:
        for one in found.days:
            yield [one.day, one.key, one.gpu_hours.quantize(FOUR), one.runs_started]

    return Table(
        name=f"usage-{first_on}-{last_on}-{by}",
        title=_("Usage analysis"),
        columns=[
            Column("day", WORDS["day"], Form.DAY),
            Column(by, WORDS[by]),
            Column("gpu_hours", gettext_lazy("GPU time (GPU-hours)"), Form.HOURS),
            Column("runs_started", gettext_lazy("Runs started"), Form.COUNT),
        ],
        rows=rows,
        steps=lambda: len(found.days),
        filters=[(_("Days"), f"{first_on} – {last_on}"), *filters_in_words(filters)],
        totals=lambda: [(_("GPU time (GPU-hours)"), found.gpu_hours.quantize(FOUR), Form.HOURS)],
        metrics=("gpu_hours", "runs_started"),
    )


def settled_unattributed(asked: Asked, actor: Actor) -> dict[str, str]:
    """There is nothing to ask: it is all of it."""
    return only(asked, ())


def unattributed(asked: Asked, actor: Actor) -> Table:
    """Accounts that no mapping claims, the largest first. Raises NotFound for who does not see operations."""
    if not actor.may("operations.view"):
        raise NotFound(NOTHING)
    with_money = actor.may("money.view")
    total = quality.unclaimed_total()

    def rows() -> Iterator[Sequence[Value]]:
        after = None
        while True:
            found = quality.unclaimed(after, with_money=with_money)
            shown_now = found[: quality.ACCOUNTS_A_PAGE]
            for one in shown_now:
                money = [one.amount] if with_money else []
                figures = [one.gpu_hours.quantize(FOUR), *money, one.first_on, one.last_on]
                yield [one.cluster, one.account, *figures, one.runs_started, one.users_in_all]
            if len(found) <= len(shown_now):
                return
            last = shown_now[-1]
            after = (last.milligpu_seconds, last.cluster, last.account)

    money = [Column("amount", _("Amount (%(currency)s)") % {"currency": installation().currency}, Form.MONEY)]
    return Table(
        name="unattributed",
        title=_("Unattributed accounts"),
        columns=[
            Column("cluster", WORDS["cluster"]),
            Column("account", WORDS["account"]),
            Column("gpu_hours", gettext_lazy("GPU time (GPU-hours)"), Form.HOURS),
            *(money if with_money else []),
            Column("first_on", gettext_lazy("First day"), Form.DAY),
            Column("last_on", gettext_lazy("Last day"), Form.DAY),
            Column("runs", gettext_lazy("Runs started"), Form.COUNT),
            Column("users", gettext_lazy("Users"), Form.COUNT),
        ],
        rows=rows,
        steps=lambda: total.accounts,
        totals=lambda: [(_("GPU time (GPU-hours)"), total.gpu_hours.quantize(FOUR), Form.HOURS)],
        metrics=("gpu_hours",),
    )


def settled_audit(asked: Asked, actor: Actor) -> dict[str, str]:
    """The search; what is empty is open."""
    return only({name: value.strip() for name, value in asked.items() if value.strip()}, TRAIL)


def audit(asked: Asked, actor: Actor) -> Table:
    """The lines that a search finds, streamed, the latest first. Raises NotFound for who does not audit."""
    if not actor.may("audit.view"):
        raise NotFound(NOTHING)
    span = (_day(asked.get("from", "")), _day(asked.get("to", "")))
    if span[0] and span[1] and span[0] > span[1]:
        raise BadData(N_("The last day lies before the first."))
    who, action, kind, code = (asked.get(name, "") for name in TRAIL[:4])
    search = trail.Search(who, action, kind, code, *span)

    def rows() -> Iterator[Sequence[Value]]:
        for one in trail.lines(search, zone(), actor=actor, most=None):
            values = [None if v is None else json.dumps(v, ensure_ascii=False) for v in (one.before, one.after)]
            machine = "true" if one.is_machine else "false"
            yield [one.at, one.actor, machine, one.address, one.action, one.object_kind, one.object_code, *values]

    return Table(
        name="audit",
        title=_("Audit trail"),
        columns=[
            Column("at", gettext_lazy("When"), Form.INSTANT),
            Column("actor", gettext_lazy("Who")),
            Column("is_machine", gettext_lazy("By a machine")),
            Column("address", gettext_lazy("From where")),
            Column("action", gettext_lazy("What was done")),
            Column("object_kind", gettext_lazy("Kind of object")),
            Column("object_code", gettext_lazy("Object")),
            Column("before", gettext_lazy("Before")),
            Column("after", gettext_lazy("After")),
        ],
        rows=rows,
        steps=lambda: trail.count(search, zone(), actor=actor),
        filters=[(_TRAIL_WORDS[name], asked[name]) for name in TRAIL if name in asked],
    )


_TRAIL_WORDS = {
    "who": gettext_lazy("Who"),
    "action": gettext_lazy("What was done"),
    "kind": gettext_lazy("Kind of object"),
    "object": gettext_lazy("Object"),
    "from": gettext_lazy("First day"),
    "to": gettext_lazy("Last day"),
}


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadData(N_("“%(text)s” is no day. Write 2026-06-30."), text=text) from None


def settled_nodes(asked: Asked, actor: Actor) -> dict[str, str]:
    """The filters of the list; what is empty is open."""
    return only({name: value for name, value in asked.items() if value}, NODES)


def nodes(asked: Asked, actor: Actor) -> Table:
    """Nodes with their cards, place and state. Raises NotFound for who does not see the catalogue."""
    of = standing(actor)
    if not (of.holds("usage.view") or of.holds("capacity.view")):
        raise NotFound(NOTHING)
    if asked.get("state") not in (None, "unsound", *NODE_STATES):
        states = ", ".join(NodeState.STATES)
        raise BadData(
            N_("“%(state)s” is not a state of a node; the states are %(states)s."), state=asked["state"], states=states
        )
    found = shown.units_of(estate().everything.units, dict(asked))
    known = spots()

    def rows() -> Iterator[Sequence[Value]]:
        for unit in found:
            spot = known[unit.place]
            cards: list[Value] = [unit.cards, unit.left, unit.used]
            where = [unit.cluster, unit.node, unit.pool, unit.model, spot.name, spot.domain]
            yield [*where, *cards, str(unit.tone.word), None if unit.is_sound else unit.since, unit.reason]

    return Table(
        name="nodes",
        title=_("Nodes"),
        columns=[
            Column("cluster", WORDS["cluster"]),
            Column("node", gettext_lazy("Node")),
            Column("pool", WORDS["pool"]),
            Column("model", WORDS["model"]),
            Column("place", gettext_lazy("Place")),
            Column("domain", gettext_lazy("Fault domain")),
            Column("cards", gettext_lazy("Cards installed"), Form.COUNT),
            Column("cards_in_service", gettext_lazy("Cards in service"), Form.COUNT),
            Column("cards_used", gettext_lazy("Cards in use"), Form.COUNT),
            Column("state", gettext_lazy("State")),
            Column("since", gettext_lazy("Since"), Form.INSTANT),
            Column("reason", gettext_lazy("Reason")),
        ],
        rows=rows,
        steps=lambda: len(found),
        filters=[(str(WORDS.get(name, name)), value) for name, value in asked.items()],
    )
