"""An organisation file on its way from the plan to its confirmation.

Nothing is kept on the server: the content travels in the form, signed for one person and one hour, so that any host can
take the confirmation and nobody can confirm what was not shown. It is confirmed by its digest and by that of its plan.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.core.signing import BadSignature, TimestampSigner
from django.db import transaction

from governance.access.actor import Actor
from governance.errors import N_, BadData, NotTheMoment
from portal.organisation import document
from portal.organisation.actions import load
from portal.organisation.plan import Plan, as_data

MOST_BYTES = 1024 * 1024
HOLDS_SECONDS = 3600
TOO_LARGE = N_(
    "The file is larger than %(kib)s KiB, which is the most a page takes. Load it on the server: manage.py load_organisation FILE"
)
_SIGNER = TimestampSigner(salt="steelyard.organisation")


@dataclass(frozen=True)
class Upload:
    """A file that was sent: its text, its name, and the day on which what it leaves out ends (None: it stays)."""

    text: str
    name: str
    prune_on: date | None

    @property
    def digest(self) -> str:
        """SHA-256 of what would be applied, the day included."""
        return hashlib.sha256(f"{self.prune_on or ''}\n{self.text}".encode()).hexdigest()


def received(content: bytes, name: str, prune_on: date | None) -> Upload:
    """Take in a file. Raises BadData where it is too large, binary or not UTF-8."""
    if len(content) > MOST_BYTES:
        raise BadData(TOO_LARGE, kib=MOST_BYTES // 1024)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise BadData(N_("The file is not UTF-8 text (line %(line)s)."), line=line) from fault
    if "\0" in text:
        raise BadData(N_("The file is binary, not text."))
    return Upload(text, name[:200], prune_on)


def sealed(upload: Upload, *, actor: Actor) -> str:
    """The upload as text for a form, readable by `opened` for the same person within the hour."""
    on = upload.prune_on.isoformat() if upload.prune_on else ""
    return _SIGNER.sign_object([actor.name, upload.name, on, upload.text], compress=True)


def opened(seal: str, digest: str, *, actor: Actor) -> Upload:
    """The upload that was sealed. Raises BadData where it is not this person's, too old, or not what `digest` names."""
    try:
        who, name, on, text = _SIGNER.unsign_object(seal, max_age=HOLDS_SECONDS)
    except (BadSignature, ValueError) as fault:
        raise BadData(
            N_("The plan was shown more than an hour ago, or was changed on the way. Upload the file again.")
        ) from fault
    found = Upload(text, name, date.fromisoformat(on) if on else None)
    if who != actor.name or digest != found.digest:
        raise BadData(N_("What is confirmed is not the file whose plan was shown. Upload the file again."))
    return found


def planned(upload: Upload, *, actor: Actor) -> Plan:
    """What applying it would change; nothing is written. Errors as `load`."""
    return load(document.read(upload.text), actor=actor, dry_run=True, prune_on=upload.prune_on)


@transaction.atomic
def applied(upload: Upload, plan_digest: str, *, actor: Actor) -> Plan:
    """Apply it, if that still does what was shown. Raises NotTheMoment, with nothing written, where it would do something else."""
    found = load(document.read(upload.text), actor=actor, prune_on=upload.prune_on)
    if digest_of(found) != plan_digest:
        raise NotTheMoment(
            N_(
                "The organisation has changed since the plan was shown. Nothing was written;"
                " upload the file again to see the new plan."
            )
        )
    return found


def digest_of(found: Plan) -> str:
    """SHA-256 of what a plan would do."""
    return hashlib.sha256(json.dumps(as_data(found), default=str, sort_keys=True).encode()).hexdigest()


def told(values: dict[str, Any] | None) -> str:
    """What there is to see of a row, in one cell."""
    shown = {word: value for word, value in (values or {}).items() if value not in (None, "", [], {})}
    return ", ".join(f"{word}: {_told(value)}" for word, value in shown.items())


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{word}: {_told(one)}" for word, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_told, value)) + "]"
    return str(value)
