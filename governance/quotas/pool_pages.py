"""Pages on which the terms of a pool are set and ended: the form, what it would mean in words, and then the deed."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from governance.access.actor import Actor, require
from governance.catalogue.models import Pool
from governance.errors import N_, NotFound
from governance.tenants.models import Department

from .forms import QuotaForm
from .moving import INVALID, given_in
from .outlook import outlook
from .pool_kinds import ADD, END, KINDS, Kind, form_of
from .preview import tried
from .reach import pool_seen
from .views import crumbs, reader

GONE = N_("It does not stand any more: something else was set since. Look at the pool's rules.")


@login_required
@require_http_methods(["GET", "POST"])
def term(request: HttpRequest, code: str, what: str, verb: str) -> HttpResponse:
    """Set, change or end what holds for the pool; `of` says of which line. Without `confirm` only what it would mean is shown."""
    actor, day = reader(request)
    pool = pool_seen(code, actor)
    require(actor, "offering.change", pool)
    kind = KINDS.get(what)
    if kind is None or verb not in kind.titles:
        raise NotFound(N_("Nothing is here under this address."))
    row = None if verb == ADD else _row(kind, pool, request.GET.get("of", ""))
    form_class, how = form_of(kind, verb)
    if request.method == "GET":
        first_on = max(day, row.from_on) if row and row.from_on else day
        begun = {"from_on": first_on, **({} if verb == END else kind.initial(row))}
        return _page(request, pool, kind, verb, row, form_class(initial=begun, **how))
    form = form_class(request.POST, **how)
    if not form.is_valid():
        return _page(request, pool, kind, verb, row, form, status=INVALID)
    if request.POST.get("confirm"):
        _act(kind, verb, pool, row, form.cleaned_data, actor)
        messages.success(request, _("It is set down. The scheduler follows."))
        return redirect(f"{reverse('quota-pool', args=[pool.code])}?tab=rules")
    return _page(
        request, pool, kind, verb, row, form, trial=_trial(kind, verb, pool, row, form.cleaned_data, actor, day)
    )


def _row(kind: Kind, pool: Pool, number: str) -> Any:
    """The line of the pool that is meant. Raises NotFound."""
    digits = number.isascii() and number.isdecimal() and len(number) < 18
    row = kind.model.objects.filter(pool=pool, pk=int(number)).first() if digits else None
    if row is None:
        raise NotFound(GONE)
    return row


def _act(kind: Kind, verb: str, pool: Pool, row: Any, given: dict[str, Any], actor: Actor) -> None:
    if verb == END:
        kind.end(pool, row, given["from_on"], actor)
    else:
        kind.begin(pool, row, dict(given), actor)


def _trial(
    kind: Kind, verb: str, pool: Pool, row: Any, given: dict[str, Any], actor: Actor, day: date
) -> dict[str, Any]:
    """What holds on the first day before and after, in sentences, or why it does not go through."""
    key, on = kind.key_of(row) if row else given.get(kind.key, ""), given["from_on"]
    refusal, before, after = tried(
        lambda: _act(kind, verb, pool, row, given, actor),
        lambda: (kind.said(pool, key, on), outlook(pool, day).tightest if kind.is_of_room else None),
    )
    return {
        "refusal": refusal,
        "on": on,
        "sides": [(_("Now"), before[0]), (_("Then"), after[0])],
        "room": (before[1], after[1]) if kind.is_of_room else None,
    }


def _page(
    request: HttpRequest,
    pool: Pool,
    kind: Kind,
    verb: str,
    row: Any,
    form: QuotaForm,
    *,
    trial: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    back = f"{reverse('quota-pool', args=[pool.code])}?tab=rules"
    title = kind.titles[verb]
    context = {
        "crumbs": [*crumbs(linked=True), {"label": pool.name, "url": back}, {"label": title}],
        "title": title,
        "subject": f"{pool.name} · {kind.brief(row)}" if row else pool.name,
        "back_url": back,
        "form": form,
        "trial": trial,
        "given": given_in(form) if trial else [],
        "departments": _known_departments(request.actor) if "department" in form.fields else [],  # type: ignore[attr-defined]
    }
    return render(request, "quotas/term.html", context, status=status)


def _known_departments(actor: Actor) -> list[Department]:
    """Departments to choose from by name: those whose quotas one sees. Any other goes by its code."""
    return list(Department.objects.visible_to(actor, "quota.view").order_by("code"))
