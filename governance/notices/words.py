"""States and faults of channels in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from . import registry
from .channel_models import FAILED, SENT, WAITING, WITHHELD
from .channels import BY_HAND, FAILING, GONE
from .forms import event_words
from .models import Channel, Delivery


@dataclass(frozen=True)
class Tone:
    """How a state is shown: colour, icon and word."""

    tone: str
    icon: str
    word: str | Promise


STATES = {
    WAITING: Tone("warn", "clock", gettext_lazy("Waits")),
    SENT: Tone("ok", "ok", gettext_lazy("Taken")),
    FAILED: Tone("bad", "bad", gettext_lazy("Given up")),
    WITHHELD: Tone("", "ban", gettext_lazy("Withheld")),
}
STOPPED = {
    BY_HAND: Tone("", "ban", gettext_lazy("Switched off")),
    FAILING: Tone("bad", "bad", gettext_lazy("Switched off after days of failure")),
    GONE: Tone("bad", "bad", gettext_lazy("Switched off: the other side said it is gone")),
}
FAULTS: dict[str, Promise] = {
    "refused": gettext_lazy("The name leads to an address to which nothing is sent."),
    "no_name": gettext_lazy("The name of the host is not known."),
    "no_connection": gettext_lazy("No connection: nobody listens there, or something is in between."),
    "timeout": gettext_lazy("No whole answer within the time."),
    "tls": gettext_lazy("No secure connection: the certificate is not trusted, or there is none."),
    "broken": gettext_lazy("What came back is no HTTP."),
    "code": gettext_lazy("The robot answered that it did not take it. Its answer says why."),
    "sealed": gettext_lazy(
        "Its secret was sealed under another key of the installation. Enter address and secret again."
    ),
}


def of_channel(channel: Channel) -> Tone:
    """How a channel stands."""
    if channel.stopped_at is not None:
        return STOPPED.get(channel.stopped_why, STOPPED[BY_HAND])
    if channel.failing_since_at is not None:
        return Tone("warn", "warn", _("Does not get through"))
    if channel.last_ok_at is not None:
        return Tone("ok", "ok", _("Gets through"))
    return Tone("", "clock", _("Nothing sent yet"))


def of_fault(fault: str, status: int | None) -> str:
    """Why a try was not taken."""
    if fault == "status":
        return _("The answer was %(status)s; taken is 200 to 299.") % {"status": status}
    return str(FAULTS.get(fault, fault))


def of_delivery(delivery: Delivery) -> dict[str, Any]:
    """A delivery and its tries, the last first."""
    event = registry.EVENTS.get(delivery.happening.event) if delivery.happening else None
    name = (
        _("Test of a channel")
        if delivery.happening is None
        else event_words(event)
        if event
        else delivery.happening.event
    )
    tries = sorted(delivery.tries.all(), key=lambda one: one.pk, reverse=True)
    return {
        "delivery": delivery,
        "event": name,
        "about": delivery.happening.about if delivery.happening else "",
        "state": STATES[delivery.state],
        "tries": [{"try": one, "fault": of_fault(one.fault, one.status) if one.fault else ""} for one in tries[:12]],
    }


def of_mail() -> Tone:
    """Whether mail leaves."""
    if not settings.MAIL_IS_ON:
        return Tone("", "ban", _("No mail: STEELYARD_MAIL_URL is not set"))
    return Tone("ok", "ok", _("Mail is on"))
