"""Mail that is owed to a person: what is wanted at once by itself, the rest together at their hour."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from email.utils import make_msgid
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, override

from governance.access.actor import Actor
from governance.access.models import Person
from governance.work import actions as work
from governance.work.running import Claim

from . import reads, wording
from .models import Notice
from .outbox import MAIL
from .reads import Row
from .rules import DIGEST

DIGEST_ROWS = 200
MUTED, UNSEEN, NO_ADDRESS, NO_MAIL = "muted", "unseen", "no_address", "no_mail"


def send_due(person_pk: int, claim: Claim | None = None) -> int:
    """Send the mail that is due to a person now; answers how many messages went out. Raises where the server takes none.

    What was sent is noted at once, one message after another: killed in between, the same message goes out again under the
    same Message-ID. What is due later is asked for.
    """
    person = Person.objects.filter(pk=person_pk).first()
    if person is None:
        return 0
    now = timezone.now()
    owed = Notice.objects.filter(person=person, mail_due_at__lte=now).select_related("happening").order_by("pk")
    sent = 0
    why = _why_none(person)
    if why:
        owed.update(mail_due_at=None, mail_left=why)
    else:
        sent = _send(person, list(owed[: DIGEST_ROWS * 5]), claim)
    later = Notice.objects.filter(person=person, mail_due_at__isnull=False).order_by("mail_due_at").first()
    if later is not None and later.mail_due_at is not None:
        work.ask(MAIL, str(person.pk), due_at=later.mail_due_at, actor=Actor.machine("notices"))
    return sent


def _why_none(person: Person) -> str:
    if not settings.MAIL_IS_ON:
        return NO_MAIL
    return "" if person.is_active and person.email else NO_ADDRESS


def _send(person: Person, owed: list[Notice], claim: Claim | None) -> int:
    batches = [[one] for one in owed if one.mail != DIGEST]
    digest = [one for one in owed if one.mail == DIGEST]
    batches += [digest[start : start + DIGEST_ROWS] for start in range(0, len(digest), DIGEST_ROWS)]
    actor, sent = Actor.of(person), 0
    with override(person.language or settings.LANGUAGE_CODE):
        for batch in batches:
            if claim is not None:
                claim.check()
            shown = {row.pk: row for row in reads.rows(batch, actor)}
            seen = [one for one in batch if not shown[one.pk].is_hidden]
            _note(batch, {one.pk for one in seen}, before=True)
            if seen:
                message(person, [shown[one.pk] for one in seen], batch[0].mail == DIGEST).send()
                sent += 1
            _note(seen, {one.pk for one in seen}, before=False)
    return sent


def _note(batch: Sequence[Notice], seen: set[int], *, before: bool) -> None:
    """Before sending: what is not to be seen any more is owed no longer. After it: the rest is done."""
    if before:
        gone = [one.pk for one in batch if one.pk not in seen]
        Notice.objects.filter(pk__in=gone).update(mail_due_at=None, mail_left=UNSEEN)
    else:
        Notice.objects.filter(pk__in=seen).update(mail_due_at=None, mailed_at=timezone.now(), mail_left="")


def message(person: Person, rows: list[Row], is_digest: bool) -> EmailMultiAlternatives:
    """One mail in the active language: a single notice, or a digest of several."""
    zone = wording.zone_of(reads.plan_of(Actor.of(person)))
    subject = rows[0].title
    if is_digest:
        subject = ngettext("%(count)s notice", "%(count)s notices", len(rows)) % {"count": len(rows)}
    context: dict[str, Any] = {
        "person": person,
        "rows": [{"row": row, "url": wording.whole(row.url)} for row in rows],
        "zone": zone,
        "site": settings.TITLE or _("Compute Governance Portal"),
        "preferences": wording.whole("/me/notices/"),
        "subject": subject,
    }
    site = f"[{settings.TITLE or 'Steelyard'}]"
    mail = EmailMultiAlternatives(
        " ".join(f"{site} {subject}".split())[:200],
        render_to_string("notices/mail.txt", context),
        to=[person.email],
        headers={"Message-ID": message_name(person, [row.pk for row in rows]), "Auto-Submitted": "auto-generated"},
    )
    mail.attach_alternative(render_to_string("notices/mail.html", context), "text/html")
    return mail


def message_name(person: Person, notices: list[int]) -> str:
    """The Message-ID of a mail of these notices: always the same, so that a mail sent twice is one."""
    domain = make_msgid(domain=settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].strip(">") or "localhost").rpartition(
        "@"
    )[2]
    digest = hashlib.sha256(f"{person.pk}:{notices}".encode()).hexdigest()[:32]
    return f"<notice.{digest}@{domain}"


def overdue(before: datetime) -> list[int]:
    """People to whom mail has been owed since before an instant."""
    owed = Notice.objects.filter(mail_due_at__lte=before).order_by("person").values_list("person", flat=True)
    return list(owed.distinct())
