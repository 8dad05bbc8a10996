"""Files with an ask: type and size are checked, the content lies by its digest, and it is given out as a download alone."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from django.conf import settings
from django.db import transaction

from governance.access.actor import Actor
from governance.errors import N_, BadData, NotFound, NotTheMoment, TooMuch

from . import rules
from .drafts import want_author
from .locking import locked, note
from .models import Attachment
from .reads import ask_of

MOST_FILES = 10
#: Suffix -> (media type, what the content begins with; "" where text is). Nothing that a browser would run.
TYPES: dict[str, tuple[str, bytes]] = {
    ".pdf": ("application/pdf", b"%PDF-"),
    ".png": ("image/png", b"\x89PNG\r\n\x1a\n"),
    ".jpg": ("image/jpeg", b"\xff\xd8\xff"),
    ".jpeg": ("image/jpeg", b"\xff\xd8\xff"),
    ".docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"PK\x03\x04"),
    ".xlsx": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", b"PK\x03\x04"),
    ".pptx": ("application/vnd.openxmlformats-officedocument.presentationml.presentation", b"PK\x03\x04"),
    ".txt": ("text/plain", b""),
    ".md": ("text/plain", b""),
    ".csv": ("text/csv", b""),
}
NO_TYPE = N_("“%(name)s” is of a kind that is not taken. Known are: %(known)s.")
NOT_AS_NAMED = N_("“%(name)s” is not what its name says. Send it under its own kind.")
NO_CONTENT = N_("The file is empty.")
TOO_LARGE = N_("The file is larger than %(most)s MiB.")
TOO_MANY = N_("An ask has at most %(most)s files.")
TWICE = N_("The same file is attached already.")
NO_FILE = N_("The ask %(number)s has no file %(id)s.")
GONE = N_("The file is not in the folder of files on this host. Tell the administrators.")


@transaction.atomic
def attach(number: str, name: str, content: bytes, *, actor: Actor) -> Attachment:
    """Attach a file to one's own ask while it can be changed. Raises BadData, TooMuch."""
    ask = locked(number, actor)
    want_author(ask, actor)
    assert actor.person is not None  # an author is a person
    before = ask.state
    rules.after(before, "save", number=ask.number)
    name = Path(name.replace("\\", "/")).name.strip()[:200]
    media = _checked(name, content)
    if ask.attachments.count() >= MOST_FILES:
        raise BadData(TOO_MANY, most=MOST_FILES)
    digest = hashlib.sha256(content).hexdigest()
    if ask.attachments.filter(digest=digest, name=name).exists():
        raise NotTheMoment(TWICE)
    _keep(digest, content)
    made = Attachment.objects.create(
        ask=ask, name=name, media_type=media, size=len(content), digest=digest, by=actor.person
    )
    note(ask, "attach", actor=actor, before=before, file=name, digest=digest, size=len(content))
    return made


@transaction.atomic
def detach(number: str, pk: int, *, actor: Actor) -> Attachment:
    """Take a file off one's own ask while it can be changed; its content stays where another ask has it."""
    ask = locked(number, actor)
    want_author(ask, actor)
    before = ask.state
    rules.after(before, "save", number=ask.number)
    found = ask.attachments.filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound(NO_FILE, number=ask.number, id=pk)
    digest, kept = found.digest, found.pk
    found.delete()
    found.pk = kept  # what was taken off is answered as it was
    note(ask, "detach", actor=actor, before=before, file=found.name, digest=digest)
    if not Attachment.objects.filter(digest=digest).exists():
        transaction.on_commit(lambda: path_of(digest).unlink(missing_ok=True))
    return found


def fetched(number: str, pk: int, *, actor: Actor) -> tuple[Attachment, Path]:
    """A file of an ask that the actor sees. Raises NotFound, NotTheMoment where its content is not on this host."""
    ask = ask_of(number, actor)
    found = ask.attachments.filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound(NO_FILE, number=ask.number, id=pk)
    path = path_of(found.digest)
    if not path.is_file():
        raise NotTheMoment(GONE)
    return found, path


def path_of(digest: str) -> Path:
    """Where the content with this digest lies."""
    return Path(settings.FILES_FOLDER) / digest[:2] / digest


def _checked(name: str, content: bytes) -> str:
    """The media type by name and content, never by what the sender says."""
    if not content:
        raise BadData(NO_CONTENT)
    if len(content) > settings.ATTACHMENT_MIB << 20:
        raise TooMuch(TOO_LARGE, most=settings.ATTACHMENT_MIB)
    known = TYPES.get(Path(name).suffix.lower())
    if known is None or not name.isprintable():
        raise BadData(NO_TYPE, name=name[:100], known=", ".join(sorted(TYPES)))
    media, begins = known
    if not content.startswith(begins):
        raise BadData(NOT_AS_NAMED, name=name[:100])
    if not begins:
        try:
            plain = "\0" not in content.decode("utf-8")
        except UnicodeDecodeError:
            plain = False
        if not plain:
            raise BadData(NOT_AS_NAMED, name=name[:100])
    return media


def _keep(digest: str, content: bytes) -> None:
    """Write it once, whole or not at all, for the portal's own eyes."""
    path = path_of(digest)
    if path.is_file():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{digest}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    fresh.replace(path)
