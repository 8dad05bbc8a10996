"""Events of quotas: one ends, has ended, is used beyond what it allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.urls import NoReverseMatch, reverse

from governance.access.actor import Actor
from governance.errors import N_, NotFound
from governance.notices.registry import Codes, Event, Group, Kind, register
from governance.notices.rules import AT_ONCE, DIGEST
from governance.tenants.models import Placement, day_of_today

from .models import Quota
from .reads import quota_of


def _ids(codes: Iterable[str]) -> list[int]:
    digits = [code.removeprefix("Q-") for code in codes]
    return [int(one) for one in digits if one.isascii() and one.isdecimal() and len(one) < 18]


def _visible(actor: Actor, codes: Codes) -> Iterable[str]:
    return {quota.number for quota in Quota.objects.visible_to(actor).filter(pk__in=_ids(codes)).only("pk")}


def _url(code: str) -> str:
    try:
        return reverse("quota", args=[code])
    except NoReverseMatch:  # an installation without the pages
        return ""


def _show(actor: Actor, code: str) -> dict[str, Any] | None:
    try:
        quota = quota_of(code, actor)
    except NotFound:
        return None
    return {
        "number": quota.number,
        "project": quota.project.code,
        "pool": quota.pool.code,
        "level": quota.level,
        "guaranteed_gpus": quota.guaranteed_gpus,
        "ceiling_gpus": quota.ceiling_gpus,
        "from_on": quota.from_on.isoformat(),
        "to_on": quota.to_on.isoformat() if quota.to_on else None,
    }


def _scopes(code: str) -> Iterable[tuple[str, str]]:
    for project, project_code in Quota.objects.filter(pk__in=_ids([code])).values_list("project", "project__code"):
        yield "project", project_code
        homes = Placement.objects.on(day_of_today()).filter(project=project)
        yield from (("department", home) for home in homes.values_list("department__code", flat=True))


register(
    Group("quotas", N_("Quotas"), N_("Quotas that end, have ended, or are used beyond what they allow.")),
    Kind("quota", visible=_visible, url=_url, show=_show, scopes=_scopes),
    Event(
        "quota.expiring",
        "quotas",
        "quota",
        N_("Quota %(number)s of %(project)s ends on %(end)s"),
        {
            "": N_(
                "In %(left)s days. Ask for an extension if the work goes on; afterwards nothing new starts in “%(pool)s”."
            ),
            "approver": N_("In %(left)s days. The project has neither lead nor member: see whether its work goes on."),
        },
        mail=AT_ONCE,
    ),
    Event(
        "quota.ended",
        "quotas",
        "quota",
        N_("Quota %(number)s of %(project)s has ended"),
        {"": N_("Nothing new starts on it in “%(pool)s”; what runs goes on. %(reason)s")},
        mail=AT_ONCE,
    ),
    Event(
        "quota.over",
        "quotas",
        "quota",
        N_("Quota %(number)s of %(project)s is used beyond what it allows"),
        {
            "": N_(
                "It was lowered below what runs. Nothing is stopped, nothing new starts; expected to be clear at %(clear_at)s."
            )
        },
        mail=DIGEST,
    ),
)
