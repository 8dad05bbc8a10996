"""Doors of asks: write one, look at it and its grounds, what waits for one's decision, and every move."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from governance.access.actor import Actor
from governance.doors import paging
from governance.doors.door import ListDoor, OneDoor, WriteDoor
from governance.doors.query import Paged, narrowed, text

from . import actions, checks, drafts, moving, reads
from .actions import Award
from .consequences import consequences
from .drafts import Given, LineGiven
from .locking import lines_of
from .models import Ask
from .shapes import (
    KINDS,
    STATES,
    ApproveIn,
    AskIn,
    AskOut,
    AskRow,
    ChecksOut,
    GroundsOut,
    PersonIn,
    ToDecideRow,
    VersionIn,
    WordsIn,
)
from .submitting import submit


def given_ask(given: dict[str, Any]) -> Given:
    """An ask from a checked body."""
    lines = [LineGiven(**line) for line in given.get("lines", ())]
    rest = {name: given[name] for name in ("goal", "basis", "confirmed_by", "accepts_less") if name in given}
    return Given(given["kind"], given["project"], lines, **rest)


class AsksQuery(Paged):
    """Filters of asks."""

    state = serializers.ChoiceField(choices=STATES, required=False, help_text=_("A state."))
    kind = serializers.ChoiceField(choices=KINDS, required=False, help_text=_("A kind."))
    project = text(_("The code of a project."))
    pool = text(_("The code of a pool that a line is for."))
    mine = serializers.BooleanField(required=False, help_text=_("Only those that you wrote."))
    without_approver = serializers.BooleanField(required=False, help_text=_("Only those that nobody can decide."))


class AsksDoor(WriteDoor, ListDoor):
    """Asks, and writing one."""

    name = "api-asks"
    title = _("Asks for quota")
    says = _(
        "Asks that your roles show you, the newest first. Posting makes a draft, which is yours alone until it is submitted."
    )
    query, out, order = AsksQuery, AskRow, ("-pk",)
    takes, result, success, verb = AskIn, AskRow, 201, "write"

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Ask]:
        """By state, kind, project, pool, author."""
        rows = Ask.objects.visible_to(actor).select_related("project", "asked_by", "policy")
        if asked.get("mine"):
            rows = rows.filter(asked_by=actor.person)
        if asked.get("without_approver"):
            rows = rows.filter(stages__is_open=True, stages__is_stuck=True)
        if "pool" in asked:
            rows = rows.filter(pk__in=Ask.objects.filter(lines__pool__code=asked["pool"]).values("pk"))
        return narrowed(rows, asked, {"state": "state", "kind": "kind", "project": "project__code"})

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Ask:
        """By the action of the form."""
        return drafts.save(given_ask(given), actor=actor)


class ToDecideDoor(ListDoor):
    """What waits for one."""

    name = "api-asks-to-decide"
    title = _("Asks that wait for your decision")
    says = _("Also those that you may decide in place of somebody else; the nearest deadline first.")
    out = ToDecideRow

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """In the order of deadlines."""
        rows = reads.to_decide(actor)
        return paging.of_list(rows, lambda row: [row.stage.due_at.isoformat(), row.stage.pk], after, limit)


@dataclass(frozen=True)
class _Shown:
    """What the checks of a form come to."""

    cost: Decimal | None
    currency: str
    budget_left: Decimal | None
    checks: list[Any]
    alternatives: list[Any]


class AskChecksDoor(WriteDoor):
    """Trying an ask out."""

    name = "api-ask-checks"
    title = _("Check an ask before it is written")
    says = _(
        "The estimate of its cost, the six checks and faster ways, for an ask as it would be written. Nothing is kept."
    )
    takes, result = AskIn, ChecksOut

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> _Shown:
        """Nothing of it is saved."""
        return tried(given_ask(given), actor=actor)


def tried(given: Given, *, actor: Actor) -> _Shown:
    """The checks of an ask as it is given; the page of the form asks the same."""
    ask, lines = drafts.unsaved(given, actor=actor)
    on = checks.grounds(ask, lines, actor=actor)
    return _Shown(on.cost, on.currency, on.budget, checks.checks(on), checks.alternatives(on))


class AskDoor(OneDoor, WriteDoor):
    """One ask, and writing over its draft."""

    name = "api-ask"
    title = _("One ask")
    says = _(
        "With its lines, stages, files and moves, and which moves are yours now. Posting writes over your own draft."
    )
    out = AskOut
    takes, result, verb = AskIn, AskOut, "write"

    def see(self, actor: Actor, **where: Any) -> None:
        """Those that one sees."""
        reads.ask_of(where["ask"], actor)

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> reads.AskShown:
        """With all of its story."""
        return reads.shown(where["ask"], actor)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> reads.AskShown:
        """By the action of the form."""
        version = given.pop("version", None)
        drafts.save(given_ask(given), actor=actor, number=where["ask"], version=version)
        return reads.shown(where["ask"], actor)


class AskGroundsDoor(OneDoor):
    """The grounds of a decision."""

    name = "api-ask-grounds"
    title = _("The grounds of a decision")
    says = _("Checks, consequences, earlier awards, similar asks and what the figures speak for, as they are now.")
    out = GroundsOut

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> Any:
        """From the facts of this moment."""
        ask = reads.ask_of(where["ask"], actor)
        found: Any = consequences(ask, lines_of(ask), actor=actor)
        found.alternatives = checks.alternatives(found.grounds)
        return found


class MoveDoor(WriteDoor):
    """A move on an ask that one sees; it answers the ask as it stands then."""

    result = AskOut
    verb = "move"

    def see(self, actor: Actor, **where: Any) -> None:
        """Those that one sees."""
        reads.ask_of(where["ask"], actor)

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> reads.AskShown:
        """By the action of the page."""
        self.moved(where["ask"], actor, given)
        return reads.shown(where["ask"], actor)

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """Do it."""
        raise NotImplementedError


class AskSubmitDoor(MoveDoor):
    """Submitting."""

    name = "api-ask-submit"
    title = _("Submit an ask")
    says = _(
        "Hands your draft, or what came back to you, to those who decide; a rule of the policy may approve it at once."
    )
    takes = VersionIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        submit(number, actor=actor, **given)


class AskApproveDoor(MoveDoor):
    """Approving."""

    name = "api-ask-approve"
    title = _("Approve an ask")
    says = _(
        "Agrees on the open stage, with less where it says so. The agreement that completes the last stage awards the quota:"
        " 409 where there is no room, where what it is based on has moved, or where another was first."
    )
    takes = ApproveIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        awards = tuple(Award(position=one.pop("line"), **one) for one in given.pop("awards", ()))
        actions.approve(number, actor=actor, awards=awards, **given)


class AskReturnDoor(MoveDoor):
    """Returning."""

    name = "api-ask-return"
    title = _("Return an ask to its author")
    says = _("Says what is missing; the author may submit it again as its next revision.")
    takes = WordsIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        actions.return_to_author(number, actor=actor, **{"comment": "", **given})


class AskRejectDoor(MoveDoor):
    """Rejecting."""

    name = "api-ask-reject"
    title = _("Reject an ask")
    says = _("For good, and says why.")
    takes = WordsIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        actions.reject(number, actor=actor, **{"comment": "", **given})


class AskWithdrawDoor(MoveDoor):
    """Withdrawing."""

    name = "api-ask-withdraw"
    title = _("Withdraw an ask")
    says = _("Takes it back for good; a draft is discarded this way.")
    takes = WordsIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        moving.withdraw(number, actor=actor, reason=given.get("comment", ""), version=given.get("version"))


class AskHandOverDoor(MoveDoor):
    """Handing over."""

    name = "api-ask-hand-over"
    title = _("Hand a decision over")
    says = _("Gives your decision on the open stage to somebody who sees the ask by a role of their own.")
    takes = PersonIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        moving.hand_over(number, given.pop("person", ""), actor=actor, **given)


class AskAddApproverDoor(MoveDoor):
    """Adding an approver."""

    name = "api-ask-add-approver"
    title = _("Add an approver")
    says = _("The open stage passes only when they agree as well.")
    takes = PersonIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        moving.add_approver(number, given.pop("person", ""), actor=actor, **given)


class AskAssignDoor(MoveDoor):
    """Assigning an approver."""

    name = "api-ask-assign"
    title = _("Assign an approver")
    says = _("For an ask that nobody can decide, by the administrators.")
    takes = PersonIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        given.pop("version", None)
        moving.assign(number, given.pop("person", ""), actor=actor, **given)


class AskRemindDoor(MoveDoor):
    """Reminding."""

    name = "api-ask-remind"
    title = _("Remind those who decide")
    says = _("At most once a day; 409 where everybody was reminded today.")

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        moving.remind(number, actor=actor)


class AskCommentDoor(MoveDoor):
    """Commenting."""

    name = "api-ask-comment"
    title = _("Comment on an ask")
    says = _("The author and those who decide are told.")
    takes = WordsIn

    def moved(self, number: str, actor: Actor, given: dict[str, Any]) -> None:
        """By the action of the page."""
        moving.comment(number, given.get("comment", ""), actor=actor)


class AskCopyDoor(MoveDoor):
    """Copying."""

    name = "api-ask-copy"
    title = _("Copy an ask")
    says = _("Makes a draft of your own with what it said; its days are left open.")
    success = 201

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> reads.AskShown:
        """Answers the copy."""
        return reads.shown(drafts.copy(where["ask"], actor=actor).number, actor)
