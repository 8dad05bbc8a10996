"""What must be done before the processes start; each step is quick or skipped when nothing has changed."""

import hashlib
import json
import subprocess
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import OperationalError, connection
from django.utils.translation import gettext as _

from portal.embedded.folder import demo_password, read_state, write_state
from portal.messages import compile_catalogues
from portal.supervisor.children import spawn
from portal.supervisor.instance import CannotStart
from portal.supervisor.log import Log

#: What `manage.py demo` writes into the audit trail.
DEMO_BEGUN, DEMO_PASSWORDS, DEMO_MADE = "demo.begun", "demo.passwords_set", "demo.made"


def messages(log: Log) -> None:
    """Compile the stale catalogues; a fault is shown and leaves the English text."""
    for folder in settings.LOCALE_PATHS:
        for fault in compile_catalogues(Path(folder)).faults:
            log.line("up", str(fault))


def database() -> None:
    """Reach the database; CannotStart when the server of DATABASE_URL does not answer."""
    try:
        connection.ensure_connection()
    except OperationalError as fault:
        raise CannotStart(_("The database does not answer: %(reason)s") % {"reason": str(fault).strip()}) from fault


def migrations() -> None:
    """Bring the tables to this release."""
    call_command("migrate", interactive=False, verbosity=0)


def static_files(home: Path) -> None:
    """Collect the static files, unless they are those of the last start."""
    found = sorted(
        (name, storage.size(name), storage.get_modified_time(name).timestamp())
        for finder in get_finders()
        for name, storage in finder.list(())
    )
    marks = json.dumps([str(settings.STATIC_ROOT), found])
    stamp = {"files": hashlib.sha256(marks.encode()).hexdigest()}
    if read_state(home / "static.json") != stamp or not Path(settings.STATIC_ROOT).is_dir():
        call_command("collectstatic", interactive=False, verbosity=0)
        write_state(home / "static.json", stamp)


def demo_is_wanted() -> bool:
    """Whether the books are empty, or hold a demo whose making was interrupted."""
    from governance.audit.models import AuditLine
    from governance.catalogue.models import Cluster

    marks = set(AuditLine.objects.filter(object_kind="demo").values_list("action", flat=True))
    return (DEMO_BEGUN in marks and DEMO_MADE not in marks) or not Cluster.objects.exists()


def demo(log: Log, arguments: list[str]) -> None:
    """Make the demo company in a process of its own; one that is interrupted goes on at the next start."""
    process = spawn(["manage.py", "demo", *arguments])
    try:
        reader = log.follow("demo", process.stdout) if process.stdout else None
        status = process.wait()
        if reader is not None:
            reader.join(2)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    if status:
        raise CannotStart(
            _("The demo could not be made (status %(status)d). `make up ARGS=--no-demo` starts without it.")
            % {"status": status}
        )


def sign_ins() -> list[tuple[str, str]]:
    """One (role, username) for each role that somebody of the demo company holds today; none without our demo."""
    from governance.access.models import Person
    from governance.audit.models import AuditLine
    from governance.tenants.models import DepartmentGrant, PoolGrant, ProjectGrant, SiteGrant, day_of_today

    line = AuditLine.objects.filter(object_kind="demo", action=DEMO_PASSWORDS).order_by("-id").first()
    people = Person.objects.filter(username__in=(line and line.after or {}).get("people", ()), is_active=True)
    one = people.first()
    if one is None or not one.check_password(demo_password()):  # made from another home, or changed since
        return []
    found: dict[str, str] = {}
    for grants in (SiteGrant, DepartmentGrant, ProjectGrant, PoolGrant):
        held = grants.objects.on(day_of_today()).filter(user__in=people)
        for grant in held.select_related("user", "permission").order_by("user__username"):
            found.setdefault(grant.permission.codename, grant.user.get_username())
    return sorted(found.items())
