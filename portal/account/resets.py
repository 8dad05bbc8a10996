"""A new password for who has forgotten theirs: by a link in a mail, or one that an administrator hands over."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _
from django.utils.translation import override

from governance.access.actor import Actor
from governance.access.models import Person, ResetAsked
from governance.audit import actions as audit
from governance.errors import N_, NotAllowed, NotFound, NotTheMoment
from governance.work import actions as work

from . import actions, throttle

log = logging.getLogger(__name__)
RESET = "account.reset"
#: What was asked for longer ago is not mailed any more: whoever asked has asked again.
STALE = timedelta(hours=1)


def is_on() -> bool:
    """Whether links go out by mail: there is mail, and the portal knows its own address (what a request says is not it)."""
    return bool(settings.MAIL_IS_ON and settings.PORTAL_URL)


@transaction.atomic
def ask(typed: str, address: str, language: str, now: datetime) -> int:
    """Ask for a link for a username or a mail address; answers the seconds to wait where too many were asked for, else 0.

    The same happens whether or not there is such a person, and takes as long: a worker looks.
    """
    if not is_on():
        raise NotTheMoment(
            N_("No mail leaves this portal, so no link can be sent. Ask the security administrator for one.")
        )
    held = throttle.locked_resets(typed, address, now)
    wait = max(throttle.wait_seconds(one, now) for one in held)
    if wait:
        return wait
    for one in held:
        throttle.note_failure(one, now)
    ResetAsked.objects.create(typed=typed.strip()[:254], address=address[:64], language=language)
    work.ask(RESET, "all", actor=Actor.machine("reset"))
    return 0


def send_all() -> int:
    """Mail a link for each that was asked for, to those who exist and may have one; answers how many went out."""
    sent = 0
    ResetAsked.objects.filter(at__lt=timezone.now() - STALE).delete()
    for asked in ResetAsked.objects.order_by("pk"):
        for person in _people(asked.typed):
            with override(asked.language):
                _mail(person).send()
            with transaction.atomic():
                audit.record(Actor.anonymous(asked.address), "person.reset_mailed", "person", person.username)
            sent += 1
        asked.delete()
    return sent


def _people(typed: str) -> list[Person]:
    """Who may be meant: active, with a password of their own and an address to mail to."""
    if not typed:
        return []
    found = Person.objects.filter(Q(username=typed) | Q(email__iexact=typed), is_active=True).exclude(email="")
    return [one for one in found[:5] if one.has_usable_password()]


def _mail(person: Person) -> EmailMultiAlternatives:
    context = {
        "person": person,
        "url": f"{settings.PORTAL_URL}{_path(person)}",
        "minutes": settings.PASSWORD_RESET_TIMEOUT // 60,
        "site": settings.TITLE or _("Compute Governance Portal"),
    }
    subject = f"[{settings.TITLE or 'Steelyard'}] {_('A new password')}"
    mail = EmailMultiAlternatives(subject, render_to_string("account/reset_mail.txt", context), to=[person.email])
    mail.attach_alternative(render_to_string("account/reset_mail.html", context), "text/html")
    return mail


def _path(person: Person) -> str:
    number = urlsafe_base64_encode(force_bytes(person.pk))
    return reverse("reset-set", args=[number, default_token_generator.make_token(person)])


@transaction.atomic
def issue_link(username: str, *, actor: Actor) -> str:
    """A link by which this person sets a password once, to be handed over. Only from the server's own command line.

    Raises NotAllowed, NotFound, and NotTheMoment for an account that is switched off.
    """
    if not actor.is_machine:
        raise NotAllowed(
            N_("Links for others are issued on the server: manage.py reset_link %(name)s"), name=username[:150]
        )
    person = Person.objects.filter(username=username).first()
    if person is None:
        raise NotFound(N_("There is no person “%(name)s”."), name=username[:150])
    if not person.is_active:
        raise NotTheMoment(N_("The account of “%(name)s” is switched off. Switch it on first."), name=username[:150])
    audit.record(actor, "person.reset_link_issued", "person", person.username)
    return f"{settings.PORTAL_URL}{_path(person)}"


@transaction.atomic
def set_password(person: Person, new: str, *, actor: Actor) -> None:
    """The password set by a link: every session of the person is over, and the link opens nothing more."""
    person.set_password(new)
    person.save(update_fields=["password"])
    audit.record(actor, "person.password_reset", "person", person.username)
    actions.tell_password_changed(person, actor)
