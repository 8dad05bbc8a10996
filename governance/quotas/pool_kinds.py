"""What may hold for a whole pool, kind by kind: its form, the actions that begin and end it, and what it means in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.tenants.models import Department

from . import pool_terms, reads, wording
from .forms import QuotaForm
from .models import DepartmentShare, Offering, PoolPolicy, QueueRule
from .pool_forms import EndTermsForm, OfferingForm, PolicyForm, RuleForm, ShareForm
from .pool_terms import Offer
from .rooms import policy_of
from .rules import Days

ADD, CHANGE, END = "add", "change", "end"
Said = list[tuple[str, list[str]]]  # a heading and its sentences


@dataclass(frozen=True)
class Kind:
    """A kind of terms. `key` is the field that tells one line from another of the pool, "" where there is one alone."""

    word: str | Promise
    titles: Mapping[str, str | Promise]  # by verb
    model: Any
    form: type[QuotaForm]
    key: str
    brief: Callable[[Any], str]
    initial: Callable[[Any], dict[str, Any]]  # of a row, or of None for a new one
    begin: Callable[[Pool, Any, dict[str, Any], Actor], Any]  # of the row that goes on otherwise, or None
    end: Callable[[Pool, Any, date, Actor], Any]
    said: Callable[[Pool, str, date], Said]  # of the key's value on a day
    is_of_room: bool = False  # whether the pool's room may change by it

    def rows(self, pool: Pool, day: date) -> list[Any]:
        """What of it holds on the day or comes, by key and day."""
        found = self.model.objects.filter(Q(to_on__isnull=True) | Q(to_on__gt=day), pool=pool)
        found = found.select_related("department") if self.key == "department" else found
        return list(found.order_by(*filter(None, [self.key]), "from_on"))

    def key_of(self, row: Any) -> str:
        """What tells the row from others of the pool."""
        found = getattr(row, self.key) if self.key else ""
        return found.code if isinstance(found, Department) else str(found)


def _offering_initial(row: Offering | None) -> dict[str, Any]:
    if row is None:
        return {"min_gpus": 1, "step_gpus": 1}
    same = ("qos", "name_zh", "name_en", "service_level", "min_gpus", "step_gpus", "max_gpus", "max_days", "to_on")
    return {
        **{name: getattr(row, name) for name in same},
        "code": pool_terms.next_code(row.code),
        "max_wall_minutes": _minutes(row.max_wall_s),
        "min_run_minutes": _minutes(row.min_run_s),
        "departments": " ".join(sorted(one.code for one in row.departments.all())),
    }


def _minutes(seconds: int | None) -> int | None:
    return None if seconds is None else max(1, seconds // 60)


def _offering_begin(pool: Pool, row: Offering | None, given: dict[str, Any], actor: Actor) -> Offering:
    values = {name: value for name, value in given.items() if not name.endswith("_minutes")}
    for name in ("max_wall", "min_run"):
        minutes, was = given[f"{name}_minutes"], getattr(row, f"{name}_s", None)
        # Left as it stood, a length that is no whole number of minutes keeps its seconds.
        values[f"{name}_s"] = was if minutes == _minutes(was) else minutes * 60 if minutes else None
    if row is None:
        return pool_terms.offer(Offer(pool=pool.code, **values), actor=actor)
    on = values.pop("from_on")
    return pool_terms.change_offering(row.code, on=on, actor=actor, **values)


def _offering_said(pool: Pool, level: str, day: date) -> Said:
    one = Offering.objects.on(day).filter(pool=pool, level=level).first()
    if one is None:
        return [(wording.level(level), [_("It is not offered.")])]
    names = sorted(of.name for of in one.departments.all())
    return [(f"{wording.level(level)} · {one.code}", wording.offering_sentences(one, names))]


def _rule_initial(row: QueueRule | None) -> dict[str, Any]:
    row = row or QueueRule()
    return _same(row, "priority", "preempts", "preempted_jobs", "pool_share_percent", "to_on")


def _rule_begin(pool: Pool, row: QueueRule | None, given: dict[str, Any], actor: Actor) -> QueueRule:
    values = {"level": row.level, **given} if row else given
    return pool_terms.set_queue_rule(pool.code, **values, actor=actor)


def _rule_said(pool: Pool, level: str, day: date) -> Said:
    """Of all levels: what one may do is what happens to another."""
    terms = reads.queue_terms(pool, day)
    return [(wording.level(one.level), wording.sentences(one, terms)) for one in terms]


def _policy_said(pool: Pool, key: str, day: date) -> Said:
    kind, factor = policy_of(pool, Days(day, day + timedelta(days=1)))
    has_shares = DepartmentShare.objects.on(day).filter(pool=pool).exists()
    said = wording.policy_sentence(kind, f"{factor.normalize():f}", has_shares=has_shares)
    return [(str(wording.POLICIES[kind]), [said])]


def _share_begin(pool: Pool, row: DepartmentShare | None, given: dict[str, Any], actor: Actor) -> DepartmentShare:
    values = {"department": row.department.code, **given} if row else given
    return pool_terms.set_share(pool.code, **values, actor=actor)


def _share_said(pool: Pool, code: str, day: date) -> Said:
    name = Department.objects.get(code=code).name
    share = DepartmentShare.objects.on(day).filter(pool=pool, department__code=code).first()
    said = wording.share_sentence(name, share.gpus) if share else _("It has no share of its own.")
    kind, _factor = policy_of(pool, Days(day, day + timedelta(days=1)))
    held = [] if kind == wording.rules.POOLED else [_("Shares bind only while the pool is shared by departments.")]
    return [(name, [said, *held])]


def _same(row: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


KINDS: dict[str, Kind] = {
    "offering": Kind(
        word=gettext_lazy("Offering"),
        titles={
            ADD: gettext_lazy("Offer the pool at a level"),
            CHANGE: gettext_lazy("Change an offering"),
            END: gettext_lazy("End an offering"),
        },
        model=Offering,
        form=OfferingForm,
        key="level",
        brief=lambda row: f"{wording.level(row.level)} · {row.code}",
        initial=_offering_initial,
        begin=_offering_begin,
        end=lambda pool, row, on, actor: pool_terms.end_offering(row.code, on=on, actor=actor),
        said=_offering_said,
    ),
    "rule": Kind(
        word=gettext_lazy("Queue rule"),
        titles={
            ADD: gettext_lazy("Set a queue rule"),
            CHANGE: gettext_lazy("Change a queue rule"),
            END: gettext_lazy("End a queue rule"),
        },
        model=QueueRule,
        form=RuleForm,
        key="level",
        brief=lambda row: wording.level(row.level),
        initial=_rule_initial,
        begin=_rule_begin,
        end=lambda pool, row, on, actor: pool_terms.end_queue_rule(pool.code, row.level, on=on, actor=actor),
        said=_rule_said,
    ),
    "policy": Kind(
        word=gettext_lazy("How the pool is promised"),
        titles={
            ADD: gettext_lazy("Set how the pool is promised"),
            CHANGE: gettext_lazy("Change how the pool is promised"),
            END: gettext_lazy("End how the pool is promised"),
        },
        model=PoolPolicy,
        form=PolicyForm,
        key="",
        brief=lambda row: f"{wording.POLICIES[row.kind]} × {row.factor.normalize():f}",
        initial=lambda row: _same(row or PoolPolicy(), "kind", "factor", "to_on"),
        begin=lambda pool, row, given, actor: pool_terms.set_policy(pool.code, **given, actor=actor),
        end=lambda pool, row, on, actor: pool_terms.end_policy(pool.code, on=on, actor=actor),
        said=_policy_said,
        is_of_room=True,
    ),
    "share": Kind(
        word=gettext_lazy("Share of a department"),
        titles={
            ADD: gettext_lazy("Set a department's share"),
            CHANGE: gettext_lazy("Change a department's share"),
            END: gettext_lazy("End a department's share"),
        },
        model=DepartmentShare,
        form=ShareForm,
        key="department",
        brief=lambda row: f"{row.department.name} · {row.gpus} GPUs",
        initial=lambda row: _same(row, "gpus", "to_on") if row else {},
        begin=_share_begin,
        end=lambda pool, row, on, actor: pool_terms.end_share(pool.code, row.department.code, on=on, actor=actor),
        said=_share_said,
    ),
}


def form_of(kind: Kind, verb: str) -> tuple[type[QuotaForm], dict[str, Any]]:
    """The form of a verb, and what it is made with: what tells the line from others is settled once it stands."""
    if verb == END:
        return EndTermsForm, {}
    return kind.form, {"fixed": (kind.key,) if verb == CHANGE and kind.key else ()}


def terms_set(pool: Pool, day: date) -> list[dict[str, Any]]:
    """What holds or comes in the pool, kind by kind, for who may change it."""
    return [
        {
            "what": what,
            "word": kind.word,
            "add": kind.titles[ADD],
            "rows": [(row, kind.brief(row)) for row in kind.rows(pool, day)],
        }
        for what, kind in KINDS.items()
    ]
