"""What a reader finds: never more than the pages themselves would show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.db.models import DateTimeField, Exists, ExpressionWrapper, OuterRef, Q
from django.db.models.functions import TruncDate
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from billing.ledger.pages import ALL
from billing.ledger.views import latest_month
from governance.access.actor import Actor
from governance.access.named import in_language
from governance.catalogue.models import Cluster, Node, Pool
from governance.catalogue.reads import installation
from governance.tenants.models import Department, Login, Project, ProjectGrant, held_departments, held_nodes
from governance.usage.models import Run, UsageDay
from governance.usage.views import OUTCOMES, UNKNOWN_OUTCOME
from portal.navigation import Standing, all_entries

from .match import BEGINS, fit

EACH = 6  # of a kind
RUNS = 8
LONGEST = 100


@dataclass(frozen=True)
class Found:
    """Something that was found, and where it is."""

    label: str | Promise
    note: str | Promise
    icon: str
    url: str
    keys: tuple[str, ...] = ()
    rank: int = 0


@dataclass
class Group:
    """Things of a kind, best first."""

    name: str
    rows: list[Found] = field(default_factory=list)


class Named(NamedTuple):
    """Something with a code and two names."""

    code: str
    zh: str
    en: str

    @property
    def label(self) -> str:
        """The name in the reader's language."""
        return in_language(self.zh, self.en) or self.code

    @property
    def note(self) -> str:
        """The code where it is not the name."""
        return self.code if self.label != self.code else ""


def search(asked: str, *, actor: Actor, standing: Standing) -> list[Group]:
    """What fits `asked`: objects, actions, pages. A leading `#` leaves ids alone, `>` actions alone; nothing asked: no objects."""
    text = asked.strip()[:LONGEST]
    only, text = (text[0], text[1:].strip()) if text[:1] in {"#", ">"} else ("", text)
    groups = []
    if text and only != ">":
        groups.append(Group(_("Objects"), list(_objects(text, actor, standing, ids_only=only == "#"))))
    if only != "#":
        groups.append(Group(_("Actions"), _best(_actions(standing), text)))
    if only == "":
        groups.append(Group(_("Go to"), _best(_pages(standing), text)))
    return [group for group in groups if group.rows]


def _objects(text: str, actor: Actor, standing: Standing, *, ids_only: bool) -> Iterator[Found]:
    kinds: list[Callable[[Actor, Standing], Iterable[tuple[Named, Found]]]] = [
        _departments,
        _projects,
        _pools,
        _clusters,
    ]
    for kind in kinds:
        found = []
        for named, thing in kind(actor, standing):
            rank = fit(text, [named.code] if ids_only else named)
            if rank is not None and not (ids_only and rank > BEGINS):
                found.append(Found(thing.label, thing.note, thing.icon, thing.url, rank=rank))
        yield from sorted(found, key=lambda one: (one.rank, str(one.label)))[:EACH]
    yield from _nodes(text, standing)
    yield from runs(text, actor=actor)


def _departments(actor: Actor, standing: Standing) -> Iterator[tuple[Named, Found]]:
    rows = Department.objects.visible_to(actor).values_list("code", "name_zh", "name_en")
    month = latest_month() if standing.holds("usage.view") else ""
    for named in (Named(*row) for row in rows):
        url = reverse("ledger-department", args=[named.code, month])
        yield named, Found(named.label, _("Department"), "book", url)


def _projects(actor: Actor, standing: Standing) -> Iterator[tuple[Named, Found]]:
    if not standing.holds("usage.view"):
        return
    base = reverse("ledger-department", args=[ALL, latest_month()])
    for row in Project.objects.visible_to(actor).values_list("code", "name_zh", "name_en"):
        named = Named(*row)
        url = address("project", named.code) or f"{base}?by=pool&project={named.code}"
        yield named, Found(named.label, _noted(_("Project"), named), "list", url)


def _sees_catalogue(standing: Standing) -> bool:
    return standing.holds("usage.view") or standing.holds("capacity.view")


def _pools(actor: Actor, standing: Standing) -> Iterator[tuple[Named, Found]]:
    if not _sees_catalogue(standing) or not address("catalog"):
        return
    for row in Pool.objects.values_list("code", "name_zh", "name_en"):
        named = Named(*row)
        yield named, Found(named.label, _noted(_("Pool"), named), "heartbeat", address("catalog-pool", named.code))


def _clusters(actor: Actor, standing: Standing) -> Iterator[tuple[Named, Found]]:
    if not standing.holds("operations.view"):
        return
    for row in Cluster.objects.values_list("code", "name_zh", "name_en"):
        named = Named(*row)
        url = reverse("ops-cluster", args=[named.code])
        yield named, Found(named.label, _noted(_("Cluster"), named), "heartbeat", url)


def _noted(kind: str, named: Named) -> str:
    return f"{kind} {named.note}".strip()


def _nodes(text: str, standing: Standing) -> list[Found]:
    if not _sees_catalogue(standing) or not address("catalog"):
        return []
    rows = Node.objects.filter(name__istartswith=text).order_by("name").values_list("cluster__code", "name")[:EACH]
    return [
        Found(name, f"{_('Node')} {cluster}", "heartbeat", address("catalog-node", cluster, name))
        for cluster, name in rows
    ]


def runs(job: str, *, actor: Actor) -> list[Found]:
    """Runs of the job id that the actor may see, the latest first: their own, or of projects whose runs they see."""
    if actor.person is None:
        return []
    rows = Run.objects.filter(job_id=job).select_related("cluster").defer("raw").order_by("-submit_at")
    if not actor.may("run.view"):
        rows = rows.filter(_own(actor) | Q(Exists(_counted(_projects_of_runs(actor)))))
    return [_run(run) for run in rows[:RUNS]]


def _own(actor: Actor) -> Q:
    own = Login.objects.filter(person=actor.person, cluster=OuterRef("cluster_id"), login=OuterRef("user"))
    return Q(Exists(own))


def _counted(projects: set[str]) -> Any:
    """Day facts that the run is part of, of these projects: whoever sees one of its projects sees the run."""
    zone = installation().time_zone
    days = {"day__gte": _day("start_at", zone), "day__lte": _day("stop_at", zone)}
    same = {"account": OuterRef("account"), "user": OuterRef("user"), "qos": OuterRef("qos")}
    cluster = OuterRef("cluster__code")
    return UsageDay.objects.filter(cluster_id=cluster, project_id__in=projects, **same, **days).values("day")


def _day(instant: str, zone: str) -> Any:
    outer = ExpressionWrapper(OuterRef(instant), output_field=DateTimeField())
    return TruncDate(outer, tzinfo=ZoneInfo(zone))


def _projects_of_runs(actor: Actor) -> set[str]:
    """Codes of the projects whose runs the actor sees: as the page of a run has it."""
    departments = held_departments(actor, "run.view")
    granted = held_nodes(ProjectGrant, actor, "run.view", "project")
    if not departments and not granted:
        return set()
    held = Q(pk__in=granted) | Q(placements__department__in=departments)
    return set(Project.objects.filter(held).values_list("code", flat=True))


def _run(run: Run) -> Found:
    url = reverse("job", args=[run.cluster.code, run.job_id, int(run.submit_at.timestamp())])
    word = OUTCOMES.get(run.outcome, UNKNOWN_OUTCOME).word
    return Found(f"{run.label} {run.job_name}".strip(), f"{_('Job')} {run.cluster.code} {word}", "list", url)


def _pages(standing: Standing) -> list[Found]:
    pages = [
        Found(e.label, e.group, e.icon, e.url, ("G", e.key.upper()) if e.key else ()) for e in all_entries(standing)
    ]
    pages.append(Found(_("Preferences"), "", "user", reverse("me")))
    tokens = address("tokens")
    return pages + ([Found(_("Personal tokens"), "", "user", tokens)] if tokens else [])


def _actions(standing: Standing) -> list[Found]:
    found = []
    if standing.holds("usage.view"):
        month = latest_month()
        words = _("Export the ledger of %(month)s as CSV") % {"month": month}
        found.append(Found(words, "", "download", f"{reverse('ledger')}?period={month}&format=csv"))
    if standing.holds("run.view") or standing.has_login:
        found.append(
            Found(_("Export the jobs of the last week as CSV"), "", "download", f"{reverse('jobs')}?format=csv")
        )
    if standing.holds("catalogue.change"):
        found.append(Found(_("Add a cluster"), "", "plus", reverse("ops-cluster-new")))
    found.append(Found(_("Change language, theme or density"), "", "user", reverse("me")))
    found.append(Found(_("Change my password"), "", "user", reverse("me") + "#password"))
    return [*found, Found(_("Sign out everywhere"), "", "user", reverse("me") + "#sessions")]


def _best(things: list[Found], text: str) -> list[Found]:
    ranked = [
        (rank, n, one)
        for n, one in enumerate(things)
        if (rank := fit(text, [str(one.label), str(one.note)])) is not None
    ]
    return [one for _rank, _n, one in sorted(ranked, key=lambda r: r[:2])]


def address(name: str, *args: str) -> str:
    """Where a page is, "" where this portal has none of the name."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""
