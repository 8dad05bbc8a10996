"""A portal with the cast in it, served from a process of its own until its standard input closes.

`python -m tests.browser.stage FOLDER`, DATABASE_URL naming an empty database. Prints one line of JSON: the
address, and each person's session. Everybody's password is PASSWORD. A line "NAME SECONDS" on its standard input makes a session
that ends so soon, and is answered with it; "SESSION 0" ends that session now.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

PASSWORD = "weigh-it-on-the-beam"


def main(folder: Path) -> None:
    """Assemble, serve, say where, and stop with the parent."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings"
    os.environ["STEELYARD_HOME"] = str(folder / "home")
    import django

    django.setup()
    from django.core.management import call_command
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    sessions = _people(folder)

    class Quiet(WSGIRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing of each answer."""

    server = ThreadedWSGIServer(("127.0.0.1", 0), Quiet)
    from portal.wsgi import application

    server.set_app(application)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"address": f"http://127.0.0.1:{server.server_port}", "sessions": sessions}), flush=True)
    for line in sys.stdin:
        name, seconds = line.split()
        print(
            json.dumps({"session": _over(name) if seconds == "0" else _session(_person(name), int(seconds))}),
            flush=True,
        )


def _people(folder: Path) -> dict[str, str]:
    from tests.cast import assemble

    found = {}
    for name, person in assemble(folder).people.items():
        person.set_password(PASSWORD)
        person.save(update_fields=["password"])
        found[name] = _session(person)
    _today(folder)
    _limits()
    _quotas()
    return found


def _over(session: str) -> str:
    from django.contrib.sessions.models import Session

    Session.objects.filter(session_key=session).delete()
    return ""


def _person(name: str) -> object:
    from governance.access.models import Person

    return Person.objects.get(username=name)


def _session(person: object, seconds: int = 0) -> str:
    import time

    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    store = SessionStore()
    store[SESSION_KEY] = str(person.pk)  # type: ignore[attr-defined]
    store[BACKEND_SESSION_KEY] = "governance.access.backends.PasswordBackend"
    store[HASH_SESSION_KEY] = person.get_session_auth_hash()  # type: ignore[attr-defined]
    if seconds:
        from portal.account.sessions import ENDS

        store.set_expiry(seconds)
        store[ENDS] = int(time.time()) + seconds
    store.create()
    return str(store.session_key)


def _today(folder: Path) -> None:
    """A job that runs and one that waits, both the member's, beside June's."""
    from tests import books

    rows = [
        books.line(301, "2026-06-30T08:00", "2026-06-30T09:00", None, gpus=8, JobName="det-ft-r101"),
        books.line(302, "2026-06-30T10:00", None, None, gpus=16, JobName="mm-pretrain", Reason="Resources"),
    ]
    books.bring(folder, rows, observed_at="2026-07-02T00:00")
    books.settle()


def _limits() -> None:
    """Limits in every state, a difference of each kind and what was told, as a round on a scheduler leaves them."""
    from datetime import UTC, datetime, timedelta

    from governance.catalogue.models import Cluster
    from governance.quotas.enforcement import models, rules, settling

    now, cluster = datetime.now(UTC), Cluster.objects.get(code="bj")
    findings = [
        ["usage_decays", "info", {"half_life": "7-0", "reset": "NONE"}],
        ["may_set_limits", "ok", {"login": "p"}],
    ]
    models.EnforcedCluster.objects.create(
        cluster=cluster, is_on=True, changed_at=now, changed_by="operator", findings=findings, checked_at=now, read_at=now,
        limits=8, foreign_limits=2, refused={"Q-000001": ["shared_account", {"accounts": "common"}]},
    )  # fmt: skip
    command = "sacctmgr -i -Q modify qos where name=sy.ocr.train-h800 set GrpTRES=gres/gpu=16,gres/gpu:h800=16"
    order = models.LimitOrder.objects.create(cluster=cluster, command=command, exit_code=1, answer="No", fault="failed")
    words = {"draining": (settling.OVER, {"over": 12}), "dry": (settling.DRY_RUN, {})}
    for state in models.STATES:
        said, params = words.get(state, ("", {}))
        models.EnforcedLimit.objects.create(
            cluster=cluster, kind="qos", name=f"sy.ocr.{state}", project="ocr", quotas=["Q-000001"], state=state,
            wanted={"GrpTRES:gres/gpu": 16, "MinTRES:gres/gpu:h800": 1}, wanted_at=now, seen={"GrpTRES:gres/gpu": 28},
            seen_at=now, told=order, told_at=now, used={"gres/gpu": 28}, words=said, words_params=params,
            clear_at=now + timedelta(hours=2) if state == "draining" else None,
        )  # fmt: skip
    for kind in rules.DRIFTS:
        models.LimitDrift.objects.create(
            cluster=cluster, kind="account", name=f"by-hand-{kind}", drift=kind, project="ocr", changed_by="root",
            changed_at=now, differs={"GrpTRES:gres/gpu": [16, 40]}, first_at=now, last_at=now,
        )  # fmt: skip


def _quotas() -> None:
    """Quotas in every state and the terms of their pool."""
    from tests.quotas.held import lay_out

    lay_out()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
