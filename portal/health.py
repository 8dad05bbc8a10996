"""Whether the process lives and whether it can serve: for load balancers and the supervisor. No secrets, no session."""

from __future__ import annotations

import os

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

BROKER_SECONDS = 2.0


def live(request: HttpRequest) -> JsonResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


def ready(request: HttpRequest) -> JsonResponse:
    """200 when pages can be served, else 503; each check in a word."""
    checks = {"database": database(), "migrations": "unknown", "broker": broker()}
    if checks["database"] == "ok":
        checks["migrations"] = migrations()
    failing = any(state in {"unreachable", "unknown", "missing"} for state in checks.values())
    return JsonResponse({"status": "unready" if failing else "ok", **checks}, status=503 if failing else 200)


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
    if not url.startswith(("redis://", "rediss://")):
        return "configured" if os.environ.get("BROKER_URL") else "embedded broker not running"
    client = redis.Redis.from_url(url, socket_connect_timeout=BROKER_SECONDS, socket_timeout=BROKER_SECONDS)
    try:
        client.ping()
    except redis.RedisError:
        return "unreachable" if os.environ.get("BROKER_URL") else "embedded broker not running"
    finally:
        client.close()
    return "ok"
