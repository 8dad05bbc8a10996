"""Doors of the ledger: statements, journal lines, the trial balance."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors import paging
from governance.doors.door import NOTHING, ListDoor, OneDoor
from governance.doors.query import Paged, Query, Sparse, text
from governance.errors import N_, BadData, NotFound

from . import reads, scope
from .published import as_json
from .statement import DIMENSIONS

PERIOD = _("2026-06, 2026, or 2026-06-01..2026-06-30 with both days.")
NARROWING = ("project", "pool", "model", "user", "qos", "cluster", "day", "account", "outcome")
MOST_DIMENSIONS = 4
TOO_MANY = N_("At most %(most)s different dimensions can be combined.")


def _figure(help_text: Any = "", **more: Any) -> serializers.CharField:
    return serializers.CharField(help_text=help_text, **more)


class Figures(serializers.Serializer[Any]):
    """Hours with four places and money with six, as decimal strings."""

    gpu_hours = _figure()
    card_hours = _figure(_("Slices converted to whole GPUs."))
    cpu_hours = _figure()
    node_hours = _figure()
    wall_hours = _figure()
    memory_gib_hours = _figure()
    runs_started = serializers.IntegerField()
    runs_ended = serializers.IntegerField()
    amount = _figure(_("Posted; null where you see no money, or none is told apart so."), allow_null=True)
    accrued = _figure(_("Priced, not posted yet."), allow_null=True)


class StatementRow(Figures):
    """A row: what it is keyed by, and its figures."""

    name = serializers.CharField(help_text=_("In the reader's language."))

    def get_fields(self) -> dict[str, Any]:
        """With the dimensions, of which a row has those that were asked for."""
        found: dict[str, Any] = {name: serializers.CharField(required=False) for name in DIMENSIONS}
        return {**found, **super().get_fields()}


class UnpricedRow(serializers.Serializer[Any]):
    """Use of a day that no price covers."""

    day = serializers.CharField()
    pool = serializers.CharField()
    model = serializers.CharField()
    qos = serializers.CharField()
    gpu_hours = serializers.CharField()


class ExceptionsOut(serializers.Serializer[Any]):
    """What a reader must know beside the figures."""

    quarantined = serializers.IntegerField()
    unattributed_gpu_hours = serializers.CharField()
    unassigned_gpu_hours = serializers.CharField()
    unknown_gpu_runs = serializers.IntegerField()
    unpriced_days = UnpricedRow(many=True)
    over_allocated_days = serializers.IntegerField()


class StatementOut(serializers.Serializer[Any]):
    """The statement in the published form."""

    period = serializers.CharField()
    time_zone = serializers.CharField()
    currency = serializers.CharField()
    through = serializers.CharField(allow_null=True, help_text=_("Complete up to this instant."))
    rows = StatementRow(many=True)
    total = Figures()
    exceptions = ExceptionsOut()


def _narrowing(given: dict[str, Any]) -> dict[str, str]:
    return {name: given[name] for name in NARROWING if name in given}


class StatementQuery(Sparse):
    """Which statement."""

    period = text(PERIOD, required=True)
    by = text(
        _(
            "Up to four dimensions, separated by commas: department, project, pool, model, user, qos, day, cluster, account, outcome."
        )
    )
    department = text(_("The code of a department, with all below it."))
    project = text(_("The code of a project."))
    pool = text(_("The code of a pool."))
    model = text(_("The code of a GPU model."))
    user = text(_("A name on the cluster."))
    qos = text(_("A QoS; empty for runs without."))
    cluster = text(_("The code of a cluster."))
    day = text(_("A day, such as 2026-06-30."))
    account = text(_("An account; then there are no amounts."))
    outcome = text(_("An outcome; then there are no amounts."))


class StatementDoor(OneDoor):
    """The ledger of a period."""

    name = "api-ledger-statement"
    title = _("Compute ledger of a period")
    says = _("Hours and money by up to four dimensions, as far as you may see: the same as “ledger --format json”.")
    query, out = StatementQuery, StatementOut

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """By department where nothing is said."""
        by = tuple(name.strip() for name in asked.get("by", "department").split(",") if name.strip())
        if len(by) > MOST_DIMENSIONS or len(set(by)) < len(by):
            raise BadData(TOO_MANY, most=MOST_DIMENSIONS)
        department = asked.get("department")
        return as_json(reads.statement(asked["period"], by, actor=actor, department=department, **_narrowing(asked)))


class LineRow(serializers.Serializer[Any]):
    """A line of the journal."""

    id = serializers.IntegerField()
    used_on = serializers.DateField()
    period = serializers.CharField(help_text=_("The month in which it is booked."))
    revision = serializers.IntegerField(help_text=_("1 is the first posting of the day."))
    kind = serializers.ChoiceField(choices=("use", "correction"))
    reason = serializers.CharField()
    posted_at = serializers.DateTimeField()
    department = serializers.CharField(help_text=_("Who pays."))
    project = serializers.CharField()
    user = serializers.CharField()
    pool = serializers.CharField()
    model = serializers.CharField()
    qos = serializers.CharField()
    band = serializers.CharField()
    cluster = serializers.CharField()
    measure = serializers.CharField()
    quantity = serializers.IntegerField(help_text=_("In the unit of the fact: thousandths of a GPU × seconds, …"))
    share_percent = serializers.DecimalField(max_digits=7, decimal_places=4)
    unit_price = serializers.DecimalField(max_digits=18, decimal_places=6)
    amount = serializers.DecimalField(max_digits=24, decimal_places=6)


class LinesQuery(Paged):
    """Which lines."""

    period = text(PERIOD, required=True)
    department = text(_("The code of a department, with all below it."))
    project = text(_("The code of a project."))
    pool = text(_("The code of a pool."))
    model = text(_("The code of a GPU model."))
    user = text(_("A name on the cluster."))
    qos = text(_("A QoS; empty for runs without."))
    cluster = text(_("The code of a cluster."))
    day = text(_("A day, such as 2026-06-30."))


class LinesDoor(ListDoor):
    """Lines of the journal."""

    name = "api-ledger-lines"
    title = _("Journal lines")
    says = _("What was charged to whom on which day at which price; a correction is a line of its own that says why.")
    query, out = LinesQuery, LineRow

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """By day and id."""
        turn, department = paging.Turn(after), asked.get("department")
        return reads.lines(
            asked["period"], actor=actor, department=department, limit=limit, turn=turn, **_narrowing(asked)
        )


class BalanceRow(serializers.Serializer[Any]):
    """An account."""

    account_kind = serializers.ChoiceField(choices=("department", "pool"), help_text=_("Who owes, or what recovers."))
    code = serializers.CharField()
    lines = serializers.IntegerField()
    amount = serializers.DecimalField(max_digits=30, decimal_places=6)


class BalanceOut(serializers.Serializer[Any]):
    """All accounts; their amounts sum to zero."""

    period = serializers.CharField()
    accounts = BalanceRow(many=True)
    sum = serializers.DecimalField(max_digits=30, decimal_places=6)


class BalanceQuery(Query):
    """Which months."""

    period = text(PERIOD, required=True)


class BalanceDoor(OneDoor):
    """The trial balance."""

    name = "api-ledger-trial-balance"
    title = _("Trial balance")
    says = _("What each department owes and each pool recovered, booked in the months of the period; it sums to zero.")
    query, out = BalanceQuery, BalanceOut

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see the whole site's money."""
        if not scope.reach(actor, "money.view").everything:
            raise NotFound(NOTHING)

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> dict[str, Any]:
        """From the journal."""
        accounts = reads.trial_balance(asked["period"], actor=actor)
        return {"period": asked["period"], "accounts": accounts, "sum": sum(one.amount for one in accounts)}
