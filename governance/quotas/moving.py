"""Pages on which quotas are given and changed by hand: the form, what it would do, and then the deed."""

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
from governance.errors import N_, NotFound, NotTheMoment
from governance.tenants.models import UNATTRIBUTED, Project

from . import actions, listing, reads
from .actions import Terms
from .forms import AwardForm, QuotaForm
from .models import Quota
from .moves import MOVES, Move
from .preview import Consequences, consequences
from .reach import pool_seen
from .views import crumbs, reader
from .wording import LEVELS, STATES

INVALID = 422
NOT_NOW = N_("The quota %(number)s is “%(state)s”: this cannot be done to it now.")


@login_required
@require_http_methods(["GET", "POST"])
def move(request: HttpRequest, number: str, verb: str) -> HttpResponse:
    """Change, suspend, resume, return or revoke a line. Without `confirm` only what it would do is shown."""
    actor, day = reader(request)
    line = reads.quota_of(number, actor)
    wanted = MOVES.get(verb)
    if wanted is None:
        raise NotFound(N_("Nothing is here under this address."))
    require(actor, wanted.right, line.project if wanted.right == "quota.return" else line.pool)
    state = line.state_on(day)
    if state not in wanted.states:
        raise NotTheMoment(NOT_NOW, number=line.number, state=STATES[state].word)
    if request.method == "GET":
        return _move_page(request, line, wanted, wanted.form(initial=wanted.begin(line, day)), day)
    form = wanted.form(request.POST)
    if not form.is_valid():
        return _move_page(request, line, wanted, form, day, status=INVALID)
    if request.POST.get("confirm"):
        wanted.act(line.number, form.cleaned_data, actor)
        messages.success(request, str(wanted.said))
        return redirect("quota", line.number)
    trial = consequences(lambda: wanted.act(line.number, form.cleaned_data, actor), line.pool, line.project.code, day)
    return _move_page(request, line, wanted, form, day, trial=trial)


def _move_page(
    request: HttpRequest,
    line: Quota,
    wanted: Move,
    form: QuotaForm,
    day: date,
    *,
    trial: Consequences | None = None,
    status: int = 200,
) -> HttpResponse:
    (row,) = listing.rows_of([line], day)
    context = {
        "crumbs": [
            *crumbs(linked=True),
            {"label": line.number, "url": reverse("quota", args=[line.number])},
            {"label": wanted.label},
        ],
        "title": wanted.label,
        "means": wanted.means,
        "subject": f"{line.project.name} · {line.pool.name} · {LEVELS[line.level]}",
        "row": row,
        "back_url": reverse("quota", args=[line.number]),
        **_form_context(form, line.pool, trial, day),
    }
    if trial and not trial.refusal and row.use.used is not None:
        context["over"] = _over(row.use.used, line, trial, day)
    return render(request, "quotas/move.html", context, status=status)


def _over(used: Any, line: Quota, trial: Consequences, day: date) -> Any:
    """GPUs in use beyond what the line's project may then start at this level today; None where there are none."""
    then = [one for one in trial.lines_after if one.level == line.level and one.model_id == line.model_id]
    ceiling = sum(one.ceiling_gpus for one in then if one.state_on(day) in ("active", "grace"))
    return used - ceiling if used > ceiling else None


@login_required
@require_http_methods(["GET", "POST"])
def award(request: HttpRequest, code: str) -> HttpResponse:
    """Give a project a quota of the pool. Without `confirm` only what it would do is shown."""
    actor, day = reader(request)
    pool = pool_seen(code, actor)
    require(actor, "quota.award", pool)
    models = [(one.code, one.name or one.code) for one in pool.accelerators.order_by("code")]
    if request.method == "GET":
        return _award_page(request, pool, AwardForm(models=models, initial={"from_on": day}), day)
    form = AwardForm(request.POST, models=models)
    if not form.is_valid():
        return _award_page(request, pool, form, day, status=INVALID)
    if request.POST.get("confirm"):
        made = _award(pool, form.cleaned_data, actor)
        messages.success(request, _("The quota is awarded."))
        return redirect("quota", made.number)
    project = form.cleaned_data["project"]
    trial = consequences(lambda: _award(pool, form.cleaned_data, actor), pool, project, day)
    return _award_page(request, pool, form, day, trial=trial)


def _award(pool: Pool, given: dict[str, Any], actor: Actor) -> Quota:
    amounts = {name: value for name, value in given.items() if name not in {"note", "override"}}
    return actions.award(Terms(pool=pool.code, **amounts), actor=actor, note=given["note"], override=given["override"])


def _award_page(
    request: HttpRequest,
    pool: Pool,
    form: AwardForm,
    day: date,
    *,
    trial: Consequences | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "crumbs": [
            *crumbs(linked=True),
            {"label": pool.name, "url": reverse("quota-pool", args=[pool.code])},
            {"label": _("Award a quota")},
        ],
        "title": _("Award a quota"),
        "means": _("For a project that holds nothing of the pool at the level on these days."),
        "subject": pool.name,
        "projects": _known_projects(request.actor, pool),  # type: ignore[attr-defined]
        "back_url": reverse("quota-pool", args=[pool.code]),
        **_form_context(form, pool, trial, day),
    }
    return render(request, "quotas/move.html", context, status=status)


def _known_projects(actor: Actor, pool: Pool) -> list[Project]:
    """Projects to choose from by name: those one sees, and those that hold something of the pool. Any other goes by its code."""
    holders = Quota.objects.visible_to(actor).filter(pool=pool).values("project")
    seen = Project.objects.visible_to(actor, "quota.view") | Project.objects.filter(pk__in=holders)
    return list(seen.exclude(code=UNATTRIBUTED).distinct().order_by("code"))


def _form_context(form: QuotaForm, pool: Pool, trial: Consequences | None, day: date) -> dict[str, Any]:
    return {
        "form": form,
        "pool": pool,
        "trial": trial,
        "day": day,
        "lines": [(word, [(one, STATES[one.state_on(day)]) for one in lines]) for word, lines in _sides(trial)],
        # As they were given: what is confirmed is what was shown.
        "given": given_in(form) if trial else [],
    }


def given_in(form: QuotaForm) -> list[tuple[str, Any]]:
    """Names and values as they were given, one pair for each value."""
    found = []
    for name in form.fields:
        value = form[name].value()
        found += [(name, one) for one in value] if isinstance(value, list) else [(name, value)]
    return found


def _sides(trial: Consequences | None) -> list[tuple[str, list[Quota]]]:
    return [(_("Now"), trial.lines_before), (_("Then"), trial.lines_after)] if trial else []
