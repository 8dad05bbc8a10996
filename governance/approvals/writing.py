"""Pages on which asks are written: the form with its estimate, drafts that are kept while one writes, files."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.errors import BadData, BadItems, DomainError, NotFound
from governance.quotas.forms import amounts_of as quota_amounts
from governance.quotas.models import Quota
from governance.quotas.reach import NOTHING, holds
from governance.quotas.reads import quota_of
from governance.tenants.models import UNATTRIBUTED, Project, day_of_today

from . import attachments, completeness, drafts, reads, rules, shown, wording
from .drafts import MOST_LINES
from .forms import AskForm, LineForm, count_of, given_of, kind_of, line_initial, new_line
from .models import Ask
from .submitting import submit
from .trial import Trial, trial

INVALID = 422
#: What an ask may be submitted without.
OPTIONAL = ("basis", "confirmed_by", "model", "ceiling_gpus", "gpu_hours")
Options = dict[str, list[tuple[str, str]]]
#: At which field a fault of submitting stands.
AT = {
    completeness.NO_QUOTA: "quota",
    completeness.NO_DAYS: "to_on",
    completeness.DAYS_TURNED: "to_on",
    completeness.IN_THE_PAST: "from_on",
    completeness.NO_GPUS: "guaranteed_gpus",
    completeness.NOT_MORE: "guaranteed_gpus",
    completeness.NOT_LESS: "guaranteed_gpus",
    completeness.NOT_LONGER: "to_on",
    completeness.OPEN_END: "quota",
    completeness.BEYOND_QUOTA: "to_on",
    completeness.TOO_LONG_BURST: "to_on",
    completeness.ELASTIC: "guaranteed_gpus",
    completeness.NOT_OFFERED: "level",
    completeness.OFF_STEP: "guaranteed_gpus",
    completeness.OVER_MOST: "guaranteed_gpus",
    completeness.OVER_DAYS: "to_on",
}


def maker(request: HttpRequest) -> Actor:
    """Who asks, where asking is theirs at all."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not holds(actor, "ask.make"):
        raise NotFound(NOTHING)
    return actor


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The empty form, begun with what one said last, or with a quota (`?quota=Q-…&kind=extend`)."""
    actor = maker(request)
    if request.method == "POST":
        return _posted(request, actor)
    begun, lines = _begin(request, actor)
    kind = begun["kind"]
    options = _options(actor, begun["project"])
    form = AskForm(initial=begun, projects=_projects(actor))
    forms = [LineForm(prefix="l1", kind=kind, options=options, initial=lines)]
    return _page(request, actor, form, forms, kind=kind)


def _begin(request: HttpRequest, actor: Actor) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the form begins with, and its first line."""
    kind, line = kind_of(request.GET.get("kind", "")), new_line(day_of_today())
    number = request.GET.get("quota", "")
    last = Ask.objects.filter(asked_by=actor.person).select_related("project").order_by("-pk").first()
    project = request.GET.get("project", "")
    if number:
        quota = quota_of(number, actor)
        project = quota.project.code
        line = {
            **quota_amounts(quota, day_of_today()),
            "quota": quota.number,
            "from_on": max(day_of_today(), quota.from_on),
        }
    told = {name: getattr(last, name) if last else "" for name in ("basis", "confirmed_by")}
    known = project or (last.project.code if last else "") or next((code for code, _name in _projects(actor)), "")
    return {"kind": kind, "project": known, **told}, line


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, number: str) -> HttpResponse:
    """One's own draft, or what came back."""
    actor = maker(request)
    if request.method == "POST":
        return _posted(request, actor, number)
    found = reads.shown(number, actor)
    drafts.want_author(found.ask, actor)
    rules.after(found.ask.state, "save", number=found.ask.number)
    return _edit_page(request, actor, found)


def _edit_page(request: HttpRequest, actor: Actor, found: reads.AskShown) -> HttpResponse:
    ask = found.ask
    names = ("kind", "goal", "basis", "confirmed_by", "accepts_less")
    initial = {**{name: getattr(ask, name) for name in names}, "project": ask.project.code}
    options = _options(actor, ask.project.code)
    forms = [
        LineForm(prefix=f"l{n}", kind=ask.kind, options=options, initial=line_initial(line))
        for n, line in enumerate(found.lines, 1)
    ]
    empty = LineForm(prefix="l1", kind=ask.kind, options=options, initial=new_line(day_of_today()))
    form = AskForm(initial=initial, projects=_projects(actor))
    return _page(request, actor, form, forms or [empty], kind=ask.kind, found=found)


def _posted(request: HttpRequest, actor: Actor, number: str = "") -> HttpResponse:
    """Save; then submit, attach, add or take off a line, as the button says."""
    number, do = number or request.POST.get("number", ""), request.POST.get("do", "save")
    form, lines = _bound(request.POST, actor, do)
    kind = kind_of(request.POST.get("kind", ""))
    if not _valid(form, lines):
        return _page(request, actor, form, lines, kind=kind, number=number, status=INVALID)
    ask, found = None, None
    try:
        ask = drafts.save(given_of(form, lines), actor=actor, number=number, version=_version(request.POST))
        if file := request.FILES.get("file"):
            attachments.attach(ask.number, file.name or "", file.read(), actor=actor)
            ask.refresh_from_db()
        if do == "submit":
            ask = submit(ask.number, actor=actor, version=ask.version)
            _said(request, ask)
            return redirect("ask", ask.number)
    except (BadData, NotFound) as fault:
        _place(form, lines, fault)
        found = reads.shown(ask.number, actor) if ask else None
        return _page(request, actor, form, lines, kind=kind, found=found, number=number, status=fault.status)
    if do == "add" and len(lines) < MOST_LINES:
        options = _options(actor, ask.project.code)
        lines.append(
            LineForm(prefix=f"l{len(lines) + 1}", kind=kind, options=options, initial=new_line(day_of_today()))
        )
        return _page(request, actor, form, lines, kind=kind, found=reads.shown(ask.number, actor))
    if do == "save":
        messages.success(request, _("The draft %(number)s is saved.") % {"number": ask.number})
    return redirect("ask-edit", ask.number)


def _said(request: HttpRequest, ask: Ask) -> None:
    words = (
        _("%(number)s is approved by a rule of the policy.")
        if ask.state == rules.State.APPROVED
        else _("%(number)s is submitted. You are told as soon as it is decided.")
    )
    messages.success(request, words % {"number": ask.number})


def _version(post: QueryDict) -> int | None:
    said = post.get("version", "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else None


def _bound(post: QueryDict, actor: Actor, do: str = "") -> tuple[AskForm, list[LineForm]]:
    """The forms as they were sent; a line that is to go is left out."""
    kind, options = kind_of(post.get("kind", "")), _options(actor, post.get("project", ""))
    gone = do.removeprefix("drop-") if do.startswith("drop-") else ""
    prefixes = [f"l{n}" for n in range(1, count_of(post) + 1) if str(n) != gone]
    form = AskForm(post, projects=_projects(actor))
    return form, [LineForm(post, prefix=prefix, kind=kind, options=options) for prefix in prefixes]


def _valid(form: AskForm, lines: list[LineForm]) -> bool:
    return all([form.is_valid(), *(line.is_valid() for line in lines)])


def _place(form: AskForm, lines: list[LineForm], fault: DomainError) -> None:
    """Put each fault at the field it is about."""
    for one in fault.faults if isinstance(fault, BadItems) else [fault]:
        (words,) = wording.words_of(one)
        line = one.params.get("line")
        if isinstance(line, int) and 0 < line <= len(lines):
            at, name = lines[line - 1], AT.get(one.message, "")
            at.add_error(name if name in at.fields else None, words)
        elif one.message == completeness.NO_GOAL:
            form.add_error("goal", words)
        else:
            form.add_error(None, words)


@login_required
@require_POST
def draft(request: HttpRequest) -> HttpResponse:
    """Keep what was written so far, and answer what it would come to: the part of the page beside the form."""
    actor = maker(request)
    form, lines = _bound(request.POST, actor)
    context: dict[str, Any] = {"saved_at": timezone.now()}
    status = 200
    if not _valid(form, lines):
        context["faults"] = [(field.label, error) for one in (form, *lines) for field in one for error in field.errors]
        return render(request, "approvals/_estimate.html", context, status=INVALID)
    given = given_of(form, lines)
    try:
        number = request.POST.get("number", "")
        context["ask"] = drafts.save(given, actor=actor, number=number, version=_version(request.POST))
        context |= estimate(trial(given, actor=actor)) if given.lines else {}
    except DomainError as fault:
        context["faults"] = [("", words) for words in wording.words_of(fault)]
        status = fault.status
    return render(request, "approvals/_estimate.html", context, status=status)


def estimate(found: Trial) -> dict[str, Any]:
    """A trial as the fragment of the estimate shows it."""
    rows = shown.check_rows(found.checks)
    return {
        "trial": found,
        "checks": rows,
        "met": sum(one.tone.tone == "ok" for one in rows),
        "ways": [(shown.said(one.says, one.params), one.cost) for one in found.alternatives],
        "stages": shown.way_words(found.plan),
        "is_auto": found.plan is not None and found.plan.is_auto,
    }


def _projects(actor: Actor) -> list[tuple[str, str]]:
    rows = Project.objects.visible_to(actor, "ask.make").exclude(code=UNATTRIBUTED).order_by("code")
    return [(one.code, f"{one.name} {one.code}" if one.name != one.code else one.code) for one in rows]


def _options(actor: Actor, project: str) -> Options:
    """What the lines of an ask of a project choose from."""
    today: date = day_of_today()
    pools = list(Pool.objects.filter(cluster__isnull=False).order_by("code").prefetch_related("accelerators"))
    models = {model.code: model.name or model.code for pool in pools for model in pool.accelerators.all()}
    quotas = Quota.objects.visible_to(actor).filter(project__code=project, is_void=False, ended_as="")
    held = quotas.filter(Q(to_on__isnull=True) | Q(to_on__gt=today)).select_related("pool").order_by("pk")
    return {
        "pool": [("", "—"), *((one.code, one.name) for one in pools)],
        "model": [("", _("any of the pool")), *sorted(models.items())],
        "quota": [("", "—"), *((one.number, _quota_words(one)) for one in held)],
    }


def _quota_words(quota: Quota) -> str:
    return _("%(number)s, %(pool)s, %(gpus)s GPUs") % {
        "number": quota.number,
        "pool": quota.pool.name,
        "gpus": quota.guaranteed_gpus or quota.ceiling_gpus,
    }


def _page(
    request: HttpRequest,
    actor: Actor,
    form: AskForm,
    lines: list[LineForm],
    *,
    kind: str,
    found: reads.AskShown | None = None,
    number: str = "",
    status: int = 200,
) -> HttpResponse:
    for one in (form, *lines):
        one.marked()
    ask = found.ask if found else None
    if found and found.lines and status == 200:
        extra = estimate(_trial_of(found, actor))
    else:
        extra = {}
    context = {
        "crumbs": [*crumbs(linked=True), {"label": ask.number if ask else _("New ask")}],
        "form": form,
        "optional": OPTIONAL,
        "lines": [(n, one) for n, one in enumerate(lines, 1)],
        "kind": kind,
        "kinds": [(code, word, wording.KIND_HELP[code], code == kind) for code, word in wording.KINDS.items()],
        "ask": ask,
        "number": ask.number if ask else number,
        "version": ask.version if ask else request.POST.get("version", ""),
        "files": found.files if found else [],
        "found": found,
        "back": _came_back(found),
        "errors": [
            (field.id_for_label, field.label, error)
            for one in (form, *lines)
            for field in one
            for error in field.errors
        ],
        "others": [error for one in (form, *lines) for error in one.non_field_errors()],
        **extra,
    }
    return render(request, "approvals/form.html", context, status=status)


def _trial_of(found: reads.AskShown, actor: Actor) -> Trial:
    lines = [drafts.LineGiven(**line_initial(line)) for line in found.lines]
    return trial(drafts.Given(found.ask.kind, found.ask.project.code, lines, goal=found.ask.goal), actor=actor)


def _came_back(found: reads.AskShown | None) -> Any:
    """The move by which it was sent back; None where it was not."""
    if found is None or found.ask.state != rules.State.RETURNED:
        return None
    return next((one for one in reversed(found.moves) if one.what == "return"), None)


def crumbs(*, linked: bool = False) -> list[dict[str, Any]]:
    """The way to a page of asks."""
    return [{"label": _("Use compute")}, {"label": _("Asks"), "url": reverse("asks") if linked else ""}]
