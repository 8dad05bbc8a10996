"""Log lines: for people, or JSON for a collector (STEELYARD_LOG_FORMAT=json); each with the correlation id, none with a secret."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse

from governance.work import correlation
from governance.work.rules import scrubbed

log = logging.getLogger("portal.requests")

#: What every record has; the rest was given by `extra` and is shown beside the message.
_OWN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
#: Celery and Django hang objects there that hold arguments and headers: not for a log.
_HIDDEN = {"request", "data", "status_code", "server_time"}


class ReadableLines(logging.Formatter):
    """`2026-12-01 08:00:00,000 INFO governance.work [id] message`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and a traceback below it where there is one."""
        of = correlation.current()
        record.correlation = f"[{of}] " if of else ""
        return scrubbed(super().format(record))


class JsonLines(logging.Formatter):
    """One JSON object a line: at, level, logger, message, correlation_id, process, what `extra` gave, fault."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; nothing in it breaks it in two."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": scrubbed(record.getMessage()),
            "process": record.process,
        }
        if of := correlation.current():
            line["correlation_id"] = of
        for name, value in vars(record).items():
            if name not in _OWN | _HIDDEN and not name.startswith("_"):
                line[name] = value if isinstance(value, int | float | None) else scrubbed(str(value))
        if record.exc_info:
            line["fault"] = scrubbed(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class CorrelationMiddleware:
    """Every request has an id: X-Request-ID where a proxy gave one, else a new one. It goes back in the answer."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        with correlation.using(correlation.accepted(request.headers.get("X-Request-ID"))) as of:
            response = self.get_response(request)
            took = round((time.monotonic() - began) * 1000)
            # Without the query: people search for names, and links carry tokens.
            given = {"method": request.method, "path": request.path, "status": response.status_code, "took_ms": took}
            log.info("%(method)s %(path)s %(status)s in %(took_ms)s ms", given, extra=given)
        response.headers["X-Request-ID"] = of
        return response


def configuration(shape: str, level: str) -> dict[str, Any]:
    """LOGGING for settings. `shape`: "json" or "line"; `level` is the root logger's, work always tells what it does."""
    readable = {"()": ReadableLines, "format": "%(asctime)s %(levelname)s %(name)s %(correlation)s%(message)s"}
    telling = {"level": level if level == "DEBUG" else "INFO"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": JsonLines} if shape == "json" else readable},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": level},
        # django's own handler would write the same line again, in its own form.
        "loggers": {
            "governance.work": telling,
            "celery.beat": telling,
            "celery.worker": telling,
            "django": {"handlers": [], "propagate": True},
        },
    }
