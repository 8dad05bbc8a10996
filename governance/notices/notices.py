"""Events of what lies below: background work, tokens, the account, channels themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.urls import reverse

from governance.access.actor import Actor
from governance.errors import N_

from .registry import OWN, Codes, Event, Kind, register
from .rules import AT_ONCE


def _for_operations(actor: Actor, codes: Codes) -> Iterable[str]:
    return codes if actor.may("operations.view") else ()


def _work(actor: Actor, code: str) -> dict[str, Any] | None:
    """The row of the API; the code of work is its kind and its key."""
    from governance.work.api import WorkRow
    from governance.work.reads import of

    kind, _, key = code.partition(" ")
    item = of(kind, key)
    return dict(WorkRow(item).data) if item is not None else None


def _channel(about: str, facts: Mapping[str, Any]) -> str:
    return reverse("channel", args=[int(about)])


register(
    Kind("work", visible=_for_operations, url=lambda code: reverse("ops"), show=_work),
    Event(
        "work.failing",
        "operations",
        "work",
        N_("Background work fails: %(kind)s %(key)s"),
        {
            "": N_(
                "It has failed %(attempts)s times since %(since_at)s and is tried again by itself. The last error: %(error)s"
            )
        },
    ),
    Event(
        "token.expiring",
        "account",
        OWN.code,
        N_("Your token “%(name)s” ends on %(ends_at)s"),
        {"": N_("Programs that show it are refused from then on. Issue a new one and put it in its place.")},
        mail=AT_ONCE,
        personal=True,
        url=lambda about, facts: reverse("tokens"),
    ),
    Event(
        "account.password_changed",
        "account",
        OWN.code,
        N_("Your password was changed"),
        {
            "": N_(
                "All other sessions of yours have ended. If it was not you, ask the security administrator at once. From: %(address)s"
            )
        },
        mail=AT_ONCE,
        personal=True,
        url=lambda about, facts: reverse("me"),
    ),
    Event(
        "account.new_sign_in",
        "account",
        OWN.code,
        N_("Somebody signed in as you from %(address)s"),
        {
            "": N_(
                "Nobody had signed in as you from there within %(days)s days. If it was not you, change your password:"
                " that ends every other session."
            )
        },
        mail=AT_ONCE,
        personal=True,
        url=lambda about, facts: reverse("me"),
    ),
    Event(
        "channel.stopped",
        "channels",
        OWN.code,
        N_("Channel “%(name)s” is switched off"),
        {
            "": N_(
                "Nothing got through to it for %(days)s days. Put right what is in the way, test it, and switch it on again."
            )
        },
        mail=AT_ONCE,
        personal=True,
        url=_channel,
    ),
)
