"""Whether the process lives and whether it can serve: for load balancers and the supervisor. No secrets, no session."""

from __future__ import annotations

import os

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from kombu import Connection
from kombu.exceptions import OperationalError

from governance.work import reads

BROKER_SECONDS = 2.0
BROKER_OPTIONS = {"socket_connect_timeout": BROKER_SECONDS, "socket_timeout": BROKER_SECONDS, "max_retries": 0}


def live(request: HttpRequest) -> JsonResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


def ready(request: HttpRequest) -> JsonResponse:
    """200 when pages can be served, else 503; each check in a word.

    Without a broker, worker or beat the pages serve and what is asked for waits in the database: "degraded", not 503, or
    one dead broker would take every web host out of the balance.
    """
    checks = {
        "database": database(),
        "migrations": "unknown",
        "broker": broker(),
        "worker": "unknown",
        "beat": "unknown",
    }
    if checks["database"] == "ok":
        checks["migrations"] = migrations()
    if checks["migrations"] == "ok":
        checks |= {"worker": process("worker"), "beat": process("beat")}
    failing = checks["database"] != "ok" or checks["migrations"] != "ok"
    degraded = checks["broker"] == "unreachable" or not all(
        checks[role].startswith("seen") for role in ("worker", "beat")
    )
    status = "unready" if failing else "degraded" if degraded else "ok"
    return JsonResponse({"status": status, **checks}, status=503 if failing else 200)


def process(role: str) -> str:
    """ "seen N s ago", "silent for N s", or "none seen": the youngest heartbeat of a worker or beat."""
    age = reads.youngest_seconds(role)
    if age is None:
        return "none seen"
    return f"silent for {age:.0f} s" if age > reads.SILENT_SECONDS else f"seen {max(age, 0):.0f} s ago"


def database() -> str:
    """ "ok" or "unreachable"."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "unreachable"
    return "ok"


def migrations() -> str:
    """ "ok", or "missing" where this release has migrations that the database has not."""
    try:
        executor = MigrationExecutor(connection)
        return "missing" if executor.migration_plan(executor.loader.graph.leaf_nodes()) else "ok"
    except DatabaseError:
        return "unknown"


def broker() -> str:
    """ "ok", "unreachable", or that the embedded one is not running: pages and commands do without it."""
    url = str(settings.CELERY_BROKER_URL)
    if url.startswith("memory:"):
        return "configured" if os.environ.get("BROKER_URL") else "embedded broker not running"
    try:
        with Connection(url, connect_timeout=BROKER_SECONDS, transport_options=BROKER_OPTIONS) as connected:
            connected.ensure_connection(max_retries=1, timeout=BROKER_SECONDS)
    except (OperationalError, OSError):
        return "unreachable" if os.environ.get("BROKER_URL") else "embedded broker not running"
    return "ok"
