"""Pages of channels: those one may change, and for operations how all of them get on."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from governance.access.actor import Actor
from governance.doors import paging
from governance.errors import N_, NotFound

from . import channels, delivering, registry, words
from .channel_models import FAILED, SITE, WAITING, WEBHOOK
from .forms import KINDS, ChannelForm, scope_words
from .models import Channel, Delivery

INVALID = 422
ROWS = 30


@login_required
@require_safe
def listed(request: HttpRequest) -> HttpResponse:
    """The channels of the scopes on which the reader may have some."""
    actor = _reader(request)
    rows = channels.visible_to(actor).order_by("scope_kind", "scope_code", "name", "pk")
    context = {
        "crumbs": [{"label": _("Settings and audit")}, {"label": _("Channels")}],
        "rows": [_row(one) for one in rows[:500]],
    }
    return render(request, "notices/channels.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Add a channel; the secret of a webhook is shown in the answer, and never again."""
    actor = _reader(request)
    form = ChannelForm(request.POST if request.method == "POST" else None, actor=actor)
    if form.is_bound and form.is_valid():
        given = form.given()
        channel, secret = channels.add(given.pop("kind"), given.pop("name"), given.pop("url"), actor=actor, **given)
        if secret:
            return _page(request, channel, actor, secret=secret)
        messages.success(request, _("The channel is there. Send a test next."))
        return redirect("channel", channel.pk)
    context = {"crumbs": [*_crumbs(), {"label": _("New channel")}], "form": form, "action": reverse("channel-new")}
    return render(request, "notices/new_channel.html", context, status=INVALID if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def channel(request: HttpRequest, number: int) -> HttpResponse:
    """One channel with its log; a POST saves its form."""
    actor = _reader(request)
    found = _found(number, actor)
    if request.method != "POST":
        return _page(request, found, actor)
    form = ChannelForm(request.POST, actor=actor, channel=found)
    if not form.is_valid():
        return _page(request, found, actor, form=form, status=INVALID)
    channels.change(number, actor=actor, **form.given())
    messages.success(request, _("Saved."))
    return redirect("channel", number)


@login_required
@require_POST
def test(request: HttpRequest, number: int) -> HttpResponse:
    """Send a test now, and say how it went."""
    actor = _reader(request)
    delivery = channels.begin_test(_found(number, actor).pk, actor=actor)
    delivering.attempt(delivery)
    tried = Delivery.objects.get(pk=delivery.pk).tries.order_by("-pk").first()
    if tried is None:
        messages.error(request, _("Nothing was sent: the owner of the channel may not have it any more."))
    elif tried.fault:
        messages.error(request, words.of_fault(tried.fault, tried.status))
    else:
        messages.success(request, _("The test was taken."))
    return redirect("channel", number)


@login_required
@never_cache
@require_POST
def new_secret(request: HttpRequest, number: int) -> HttpResponse:
    """Another signing secret, shown in the answer and never again."""
    actor = _reader(request)
    secret = channels.new_secret(number, actor=actor)
    return _page(request, _found(number, actor), actor, secret=secret)


@login_required
@require_POST
def switch(request: HttpRequest, number: int) -> HttpResponse:
    """Switch it off or on."""
    on = request.POST.get("on") == "1"
    channels.switch(number, on, actor=_reader(request))
    messages.success(request, _("The channel is on; what waited is sent.") if on else _("The channel is off."))
    return redirect("channel", number)


@login_required
@require_POST
def remove(request: HttpRequest, number: int) -> HttpResponse:
    """Take it away."""
    channels.remove(number, actor=_reader(request))
    messages.success(request, _("The channel is removed."))
    return redirect("channels")


@login_required
@require_POST
def again(request: HttpRequest, number: int) -> HttpResponse:
    """Send a delivery once more."""
    delivery = channels.send_again(number, actor=_reader(request))
    messages.success(request, _("It is sent again now."))
    return redirect("channel", delivery.channel_id)


@login_required
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    """How mail and every channel get on: what does not get through stands first. Nothing of what they carry."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not actor.may("operations.view"):
        raise Http404
    rows = Channel.objects.filter(ended_at__isnull=True).select_related("owner")
    counted = rows.annotate(
        waiting=Count("deliveries", filter=Q(deliveries__state=WAITING)),
        lost=Count("deliveries", filter=Q(deliveries__state=FAILED)),
    ).order_by("failing_since_at", "pk")
    context = {
        "crumbs": [
            {"label": _("Resources and operations")},
            {"label": _("Collection and data quality"), "url": reverse("ops")},
            {"label": _("Channels")},
        ],
        "rows": [_row(one) | {"waiting": one.waiting, "lost": one.lost} for one in counted[:500]],
        "mail": words.of_mail(),
        "may_open": {one.pk for one in channels.visible_to(actor)},
    }
    return render(request, "notices/ops_channels.html", context)


def _page(
    request: HttpRequest,
    found: Channel,
    actor: Actor,
    *,
    form: ChannelForm | None = None,
    secret: str = "",
    status: int = 200,
) -> HttpResponse:
    after = paging.read(request.GET.get("after", ""), "deliveries")
    page = paging.of_rows(channels.deliveries_of(found), ("-pk",), after, ROWS)
    context = {
        "crumbs": [*_crumbs(), {"label": found.name}],
        "channel": found,
        **_row(found),
        "is_webhook": found.kind == WEBHOOK,
        "form": form or ChannelForm(actor=actor, channel=found),
        "action": reverse("channel", args=[found.pk]),
        "secret": secret,
        "deliveries": [words.of_delivery(one) for one in page.rows],
        "next": paging.written(page.after, "deliveries"),
        "days": settings.CHANNELS_FAIL_DAYS,
    }
    return render(request, "notices/channel.html", context, status=status)


def _row(one: Channel) -> dict[str, Any]:
    scope = registry.SCOPES.get(one.scope_kind)
    node = scope.find(one.scope_code) if scope and one.scope_kind != SITE else None
    return {
        "channel": one,
        "kind": dict(KINDS)[one.kind],
        "scope": scope_words(one.scope_kind, one.scope_code, getattr(node, "name", "")),
        "state": words.of_channel(one),
    }


def _found(number: int, actor: Actor) -> Channel:
    found = channels.visible_to(actor).filter(pk=number).first() if number < 2**63 else None
    if found is None:
        raise NotFound(channels.NO_CHANNEL)
    return found


def _reader(request: HttpRequest) -> Actor:
    """Who asks, where they may have channels on anything."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not channels.scopes_of(actor):
        raise NotFound(N_("There is nothing here for you."))
    return actor


def _crumbs() -> list[dict[str, Any]]:
    return [{"label": _("Settings and audit")}, {"label": _("Channels"), "url": reverse("channels")}]
