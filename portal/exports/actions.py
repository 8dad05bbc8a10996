"""What can be done with exports: answer a small one, ask for a large one, make it, discard it, give it out, forget it."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override

from governance.access.actor import Actor
from governance.access.models import Person
from governance.audit import actions as audit
from governance.errors import N_, BadData, DomainError, NotAllowed, NotFound, NotTheMoment
from governance.notices import wording
from governance.notices.outbox import publish
from governance.work import actions as work

from . import rules, writing
from .about import about
from .kinds import KINDS, Kind, kind_of
from .models import Export
from .reach import reach_of
from .rules import State
from .table import Value

WORK = "exports.make"
NO_EXPORT = N_("There is no export of yours with this number.")
TOO_MANY = N_("%(count)s exports of yours are under way already. Wait until one is done, or cancel one.")
NOT_DONE = N_("This export has no file: it waits, runs, failed, was cancelled, or its time is over. Ask for it again.")
NO_FILE = N_("The file of this export cannot be reached from here. Ask for it again.")
LESS_SEEN = N_(
    "Your roles show you less now than when this file was made, so it is not given out. Ask for it again to get what you may see now."
)
NO_FORMAT = N_("“%(format)s” is no format of exports. Use one of: %(known)s.")
FAILED = N_("The file could not be made, in several attempts. The reason is in the log of the workers.")
NOT_ACTIVE = N_("The account that asked for this is closed.")
BLOCK = 1 << 20
KEEP_ROWS = timedelta(days=90)
LOOK_SECONDS = 1.0

Heard = Callable[[int, int], None]  # (done, of): how far it is; raises to stop


class _Discarded(Exception):  # noqa: N818  what has happened
    """Nobody wants it any more."""


def folder() -> Path:
    """Where files are kept: the same for every host that serves or makes them."""
    path = Path(settings.EXPORTS_FOLDER)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def small(kind: Kind, query: Mapping[str, str], format: str, *, actor: Actor) -> tuple[str, bytes] | None:
    """The name and the content of the file, made at once; None where it has more than SMALL_ROWS rows.

    Raises what the page would: NotFound, BadData.
    """
    _check(format)
    with transaction.atomic():
        asked = kind.settle(query, actor)
        table = kind.table(asked, actor)
        rows: list[Sequence[Value]] = []
        for looked, row in enumerate(table.rows()):
            if row is not None:
                rows.append(row)
            if len(rows) > rules.SMALL_ROWS or looked > 4 * rules.SMALL_ROWS:
                return None
        with tempfile.TemporaryDirectory(prefix="steelyard-") as aside:
            path = Path(aside) / "file"
            writing.write(path, table, rows, format, about(table, actor))
            content = path.read_bytes()
        after = {"kind": kind.code, "query": asked, "format": format, "rows": len(rows)}
        audit.record(actor, "export.answered", "export", kind.code, after=after)
    return f"{table.name}.{format}", content


@transaction.atomic
def ask(kind: str, query: Mapping[str, str], format: str, language: str, *, actor: Actor) -> Export:
    """Ask for a file in the background. The same again, while it is under way, is the same export.

    Raises NotFound and BadData as the page does, NotTheMoment where too many are under way.
    """
    _check(format)
    of = kind_of(kind)
    if actor.person is None:
        raise NotAllowed(N_("Exports belong to people: sign in, or use a personal token."))
    asked = of.settle(query, actor)
    of.table(asked, actor)  # what would be refused later is refused now
    Person.objects.select_for_update().get(pk=actor.person.pk)  # two requests at once are counted one after another
    own = Export.objects.visible_to(actor).under_way()
    same = own.filter(kind=kind, query=asked, format=format, language=language).first()
    if same is not None:
        return same
    count = own.count()
    if count >= rules.MOST_UNDER_WAY:
        raise NotTheMoment(TOO_MANY, count=count)
    found = Export.objects.create(person=actor.person, kind=kind, query=asked, format=format, language=language)
    found.refresh_from_db()
    audit.record(actor, "export.asked", "export", str(found.pk), after={"kind": kind, "query": asked, "format": format})
    work.ask(WORK, str(found.pk), actor=actor)
    return found


def make(export_id: uuid.UUID, *, attempt: int, heard: Heard) -> None:
    """Make the file as its person may see it now. May run twice or die anywhere: the file and its row appear at the end.

    A refusal is written into the export and not tried again; another fault is raised until MOST_ATTEMPTS are over.
    """
    export = Export.objects.select_related("person").filter(pk=export_id).under_way().first()
    if export is None:
        return
    Export.objects.filter(pk=export_id).under_way().update(state=State.RUNNING, rows_done=0, rows_of=0)
    part = folder() / f"{export.pk}.{uuid.uuid4().hex}.part"
    try:
        with override(export.language):
            rows, reach = _write(export, part, heard)
        _keep(export, part, rows, reach)
    except _Discarded:
        return
    except DomainError as refusal:
        _fail(export, refusal.message, {name: str(value) for name, value in refusal.params.items()})
    except Exception as fault:
        if _is_ours(fault) and attempt >= rules.MOST_ATTEMPTS:
            _fail(export, FAILED, {})
            return
        raise
    finally:
        part.unlink(missing_ok=True)


def _is_ours(fault: Exception) -> bool:
    from governance.work.running import LeaseLost

    return not isinstance(fault, LeaseLost)


def _write(export: Export, part: Path, heard: Heard) -> tuple[int, dict[str, object]]:
    """Write the file; answers its rows and how far its person could see when it was begun."""
    if not export.person.is_active:
        raise NotAllowed(NOT_ACTIVE)
    actor = Actor.of(export.person)
    counter = _Counter(export.pk, heard)
    with transaction.atomic():
        reach = reach_of(actor)
        table = kind_of(export.kind).table(export.query, actor)
        counter.of = table.steps()
        rows = writing.rows_of(table, counter.step)
        writing.write(part, table, rows, export.format, about(table, actor))
    return counter.rows, reach


class _Counter:
    """Counts rows, and says so at most once a second; stops where the export was discarded meanwhile."""

    def __init__(self, export_id: uuid.UUID, heard: Heard) -> None:
        self._id = export_id
        self._heard = heard
        self._said = time.monotonic()
        self._steps = 0
        self.rows = 0
        self.of = 0

    def step(self, is_row: bool) -> None:
        """One step behind us."""
        self._steps += 1
        self.rows += is_row
        if self._steps % 500 == 0 and time.monotonic() - self._said >= LOOK_SECONDS:
            self._said = time.monotonic()
            self._heard(self._steps if self.of else self.rows, self.of)
            if not Export.objects.filter(pk=self._id).under_way().exists():
                raise _Discarded


def _keep(export: Export, part: Path, rows: int, reach: dict[str, object]) -> None:
    """The file takes its name and the export is done, unless it was discarded meanwhile."""
    path = folder() / export.file_name
    made = {"rows_done": rows, "rows_of": rows, "bytes": part.stat().st_size, "digest": _digest(part)}
    now = timezone.now()
    over = now + timedelta(days=settings.EXPORT_DAYS)
    os.replace(part, path)
    with transaction.atomic():
        mine = Export.objects.filter(pk=export.pk).under_way()
        kept = mine.update(state=State.DONE, made_at=now, expires_at=over, reach=reach, **made)
        if kept:
            after = {"person": export.person.get_username(), "kind": export.kind, **made}
            audit.record(Actor.machine("exports"), "export.made", "export", str(export.pk), after=after)
            _tell("export.ready", export)
    if not kept:
        path.unlink(missing_ok=True)


@transaction.atomic
def _fail(export: Export, message: str, params: dict[str, str]) -> None:
    mine = Export.objects.filter(pk=export.pk).under_way()
    if mine.update(state=State.FAILED, error=message, error_params=params):
        after = {"person": export.person.get_username(), "kind": export.kind, "error": message}
        audit.record(Actor.machine("exports"), "export.failed", "export", str(export.pk), after=after)
        _tell("export.failed", export, error=wording.words(message, **params))


def _tell(event: str, export: Export, **facts: Any) -> None:
    """A notice to who asked for it."""
    name = wording.words(KINDS[export.kind].title_msgid)
    publish(event, str(export.pk), [export.person], facts={"name": name, "url": reverse("exports"), **facts})


@transaction.atomic
def discard(export_id: uuid.UUID, *, actor: Actor) -> Export:
    """Cancel what is under way, delete the file of what is done. Raises NotFound, NotTheMoment where neither is there."""
    found = Export.objects.visible_to(actor).select_for_update().filter(pk=export_id).first()
    if found is None:
        raise NotFound(NO_EXPORT)
    if found.state not in (*rules.UNDER_WAY, State.DONE):
        raise NotTheMoment(N_("There is nothing left of this export to cancel or delete."))
    before = {"state": found.state}
    found.state = State.CANCELLED if found.is_under_way else State.EXPIRED
    found.save(update_fields=["state"])
    audit.record(actor, "export.discarded", "export", str(found.pk), before=before, after={"state": found.state})
    name = found.file_name
    transaction.on_commit(lambda: (folder() / name).unlink(missing_ok=True))
    return found


def fetched(export_id: uuid.UUID, *, actor: Actor) -> tuple[Export, str, Path]:
    """The file to give out: the export, the name to save it by, where it is.

    What the person may see is asked again: the kind's own question, and whether they still see all that they saw when the
    file was made. Raises NotFound, NotAllowed, NotTheMoment.
    """
    found = Export.objects.visible_to(actor).filter(pk=export_id).first()
    if found is None:
        raise NotFound(NO_EXPORT)
    if found.state != State.DONE or found.expires_at is None or found.expires_at <= timezone.now():
        raise NotTheMoment(NOT_DONE)
    with transaction.atomic():
        table = kind_of(found.kind).table(found.query, actor)
    if not rules.covers(reach_of(actor), found.reach):
        raise NotAllowed(LESS_SEEN)
    path = folder() / found.file_name
    if not path.is_file():
        raise NotTheMoment(NO_FILE)
    return found, f"{table.name}.{found.format}", path


def forget() -> int:
    """Delete the files whose time is over, rows long past, and parts that a dead worker left. Answers how many files."""
    now = timezone.now()
    over = list(Export.objects.over(now))
    for one in over:
        with transaction.atomic():
            if Export.objects.filter(pk=one.pk, state=State.DONE).update(state=State.EXPIRED):
                after = {"person": one.person.get_username(), "kind": one.kind}
                audit.record(Actor.machine("exports"), "export.expired", "export", str(one.pk), after=after)
        (folder() / one.file_name).unlink(missing_ok=True)
    Export.objects.exclude(state=State.DONE).filter(asked_at__lt=now - KEEP_ROWS).delete()
    day_ago = time.time() - 24 * 3600
    for part in folder().glob("*.part"):
        if part.stat().st_mtime < day_ago:
            part.unlink(missing_ok=True)
    return len(over)


def _check(format: str) -> None:
    if format not in rules.FORMATS:
        raise BadData(NO_FORMAT, format=format[:20], known=", ".join(rules.FORMATS))


def _digest(path: Path) -> str:
    made = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            made.update(block)
    return made.hexdigest()
