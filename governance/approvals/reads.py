"""Reading asks: what waits for somebody, one ask with all of its story, asks without an approver, exemptions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, OuterRef, Q, Subquery
from django.db.models.functions import JSONObject

from governance.access.actor import Actor
from governance.access.named import in_language
from governance.errors import NotFound
from governance.tenants.models import Placement, Project, day_of_today, department_tree, held_today

from . import rules, stages
from .deciding_models import represented
from .locking import NO_ASK
from .models import Ask, AskLine, AskQuerySet, Attachment, Decision, Move, Named, ReclaimExemption, Revision, Stage
from .resolving import Deciders, Resolver, Seat, Where, absent, seat
from .rules import differences


@dataclass(frozen=True)
class ToDecide:
    """An ask in somebody's inbox: its open stage, and the seat they would decide from."""

    ask: Ask
    stage: Stage
    seat: Seat
    department: str  # name of its home department today, "" without one


def to_decide(actor: Actor) -> list[ToDecide]:
    """What waits for the actor's decision, also in place of others; the nearest deadline first. About a dozen questions."""
    if actor.person is None:
        return []
    deputises = absent(actor)
    rows = _maybe_mine(actor, deputises)
    if not rows:
        return []
    homes = homes_of({stage.ask.project_id for stage in rows})
    where = {
        stage.ask_id: Where(
            stage.ask.project_id, homes.get(stage.ask.project_id), stage.ask.asked_by_id, stage.ask.kind
        )
        for stage in rows
    }
    resolver, tree = Resolver(rows, where), department_tree()
    decided = {one.stage_id for one in resolver.decisions if one.by_id == actor.person.pk}
    mine = []
    for stage in rows:
        is_decided = stage.pk in decided
        asked_by = stage.ask.asked_by_id
        found = seat(resolver.of(stage), actor, asked_by=asked_by, acting_for=deputises, decided=is_decided)
        if found is not None:
            home = homes.get(stage.ask.project_id)
            mine.append(ToDecide(stage.ask, stage, found, tree[home].name if home is not None else ""))
    return mine


def _maybe_mine(actor: Actor, deputises: list[int]) -> list[Stage]:
    """Open stages that could ask the actor, by what a role or a name allows at most; who really may is resolved after."""
    assert actor.person is not None
    people = [actor.person.pk, *deputises]
    held = list(held_today(actor))
    for one in represented(actor):
        held += held_today(one)
    roles = {grant.role for grant in held}
    named = Named.objects.filter(stage=OuterRef("pk"), person__in=people, ended_at__isnull=True)
    by_role = Q(role__in=roles) | Q(Exists(named))
    if "approver" in roles:
        by_role |= Q(scope="project")  # the ladder of a project goes on to its department
    for role in roles:
        by_role |= Q(escalate__startswith=f"{role}@")
    rows = Stage.objects.filter(by_role, is_open=True, ask__in=Ask.objects.visible_to(actor).values("pk"))
    rows = rows.select_related("ask", "ask__project", "ask__asked_by", "ask__policy", "pool")
    rows = rows.defer("ask__policy__document", "ask__facts", "ask__basis")  # large, and of no use in a list
    return list(rows.order_by("due_at", "pk"))


def homes_of(projects: Iterable[int]) -> dict[int, int]:
    """Project -> its home department today."""
    rows = Placement.objects.on(day_of_today()).filter(project__in=list(projects))
    return dict(rows.values_list("project", "department"))


def without_approver(actor: Actor) -> Any:
    """Open stages that nobody can decide, or that were escalated to the top without being decided; the oldest first."""
    asks = Ask.objects.visible_to(actor).values("pk")
    rows = Stage.objects.filter(is_open=True, is_stuck=True, ask__in=asks)
    return rows.select_related("ask", "ask__project", "pool").order_by("opened_at")


@dataclass
class StageShown:
    """A stage with who decides it: roles on nodes that were asked, how many people, who has agreed, whether nobody can."""

    stage: Stage
    deciders: Deciders
    decisions: list[Decision]

    @property
    def name(self) -> str:
        """As the policy calls it."""
        return in_language(self.stage.name_zh, self.stage.name_en) or self.stage.code

    @property
    def state(self) -> str:
        """passed, open, waiting, or left where the round ended before it."""
        if self.stage.is_open:
            return "open"
        if self.stage.closed_at is not None:
            return "passed" if not any(one.verdict != "approve" for one in self.decisions) else "stopped"
        return "waiting" if self.stage.ask.state in rules.OPEN else "left"


@dataclass(frozen=True)
class FileShown:
    """A file with an ask: size in bytes, SHA-256 in hex."""

    id: int
    name: str
    media_type: str
    size: int
    digest: str
    at: datetime


@dataclass
class AskShown:
    """An ask with all of its story, and what the actor may do with it now."""

    ask: Ask
    lines: list[AskLine]
    home: int | None
    department: str
    stages: list[StageShown]
    moves: list[Move]
    revisions: list[Revision]
    files: list[FileShown]
    seat: Seat | None
    may: list[str] = field(default_factory=list)
    changed: list[tuple[str, Any, Any]] = field(default_factory=list)  # since the revision before

    @property
    def due_at(self) -> datetime | None:
        """When the open stage is due."""
        return next((one.stage.due_at for one in self.stages if one.stage.is_open), None)


def ask_of(number: str, actor: Actor) -> Ask:
    """The ask with this number. Raises NotFound where it is not there or not the actor's to see."""
    return _found(Ask.objects.visible_to(actor), number)


def _found(rows: AskQuerySet, number: str) -> Ask:
    pk = rules.digits_of(number)
    rows = rows.select_related("project", "asked_by", "policy", "copied_from")
    found = rows.filter(pk=pk).first() if pk is not None else None
    if found is None:
        raise NotFound(NO_ASK, number=number[:32])
    return found


def _with_more(actor: Actor) -> AskQuerySet:
    """Asks with what their page needs besides, in the same question: home department, rights, files."""
    home = Placement.objects.on(day_of_today()).filter(project=OuterRef("project")).values("department")[:1]
    files = Attachment.objects.filter(ask=OuterRef("pk")).order_by("pk")
    kept = JSONObject(id="pk", name="name", media_type="media_type", size="size", digest="digest", at="at")
    return Ask.objects.visible_to(actor).annotate(
        home_id=Subquery(home),
        makes=_holds(actor, "ask.make"),
        withdraws=_holds(actor, "ask.withdraw"),
        files=ArraySubquery(files.values(kept=kept)),
    )


def _holds(actor: Actor, capability: str) -> Exists:
    return Exists(Project.objects.visible_to(actor, capability).filter(pk=OuterRef("project")))


def shown(number: str, actor: Actor, *, with_moves: bool = True) -> AskShown:
    """One ask for its page, in about ten questions; a page that tells no story leaves its moves out."""
    ask: Any = _found(_with_more(actor), number)
    tree, home = department_tree(), ask.home_id
    lines = list(ask.lines.select_related("pool", "model", "offering", "quota", "made").order_by("position"))
    rows = list(Stage.objects.filter(ask=ask, round=ask.round).select_related("pool").order_by("position"))
    stages_shown = _stages(ask, rows, home)
    revisions = list(ask.revisions.all()) if ask.round > 1 else []
    found = AskShown(
        ask=ask,
        lines=lines,
        home=home,
        department=tree[home].name if home is not None else "",
        stages=stages_shown,
        moves=list(ask.moves.select_related("stage", "by", "person", "instead_of").order_by("pk"))
        if with_moves
        else [],
        revisions=revisions,
        files=[FileShown(**{**one, "at": datetime.fromisoformat(one["at"])}) for one in ask.files],
        seat=_seat_on(ask, stages_shown, actor),
    )
    found.may = _may(found, actor, makes=ask.makes, withdraws=ask.withdraws)
    if len(revisions) > 1:
        found.changed = differences(revisions[-2].snapshot, revisions[-1].snapshot)
    return found


def _stages(ask: Ask, rows: list[Stage], home: int | None) -> list[StageShown]:
    if not rows:
        return []
    for row in rows:
        row.ask = ask
    resolver = Resolver(rows, {ask.pk: Where(ask.project_id, home, ask.asked_by_id, ask.kind)})
    decisions: dict[int, list[Decision]] = {}
    for one in resolver.decisions:
        decisions.setdefault(one.stage_id or 0, []).append(one)
    return [StageShown(row, resolver.of(row), decisions.get(row.pk, [])) for row in rows]


def _seat_on(ask: Ask, shown_stages: list[StageShown], actor: Actor) -> Seat | None:
    opened = next((one for one in shown_stages if one.stage.is_open), None)
    if opened is None or actor.person is None:
        return None
    decided = any(one.by_id == actor.person.pk for one in opened.decisions)
    return seat(opened.deciders, actor, asked_by=ask.asked_by_id, acting_for=absent(actor), decided=decided)


def _may(found: AskShown, actor: Actor, *, makes: bool, withdraws: bool) -> list[str]:
    """The moves that are the actor's now, in the words of the API."""
    ask = found.ask
    own = actor.person is not None and ask.asked_by_id == actor.person.pk
    is_stuck = any(one.stage.is_open and one.stage.is_stuck for one in found.stages)
    wanted = {
        "save": own and makes,
        "submit": own and makes,
        **dict.fromkeys(("approve", "return", "reject", "hand_over", "add"), found.seat is not None),
        "withdraw": own or withdraws,
        "remind": own or makes,
        "comment": actor.person is not None,
        "assign": is_stuck and actor.may("ask.assign"),
    }
    allowed = set(rules.moves_from(ask.state))
    found_moves = [move for move, is_mine in wanted.items() if is_mine and move in allowed]
    return [*found_moves, "copy"] if makes and actor.person is not None else found_moves


def exemptions(day: date) -> list[ReclaimExemption]:
    """What is not to be reclaimed on a day, by the asks that said so."""
    rows = ReclaimExemption.objects.on(day).select_related("project", "pool", "model", "ask")
    return list(rows.order_by("project__code", "pool__code", "level"))


def calendar_until() -> date:
    """The first day that the calendar of working days does not know."""
    return stages.calendar.known_until()
