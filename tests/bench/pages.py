"""`python -m tests.bench pages [--runs N] [--requests N] [--readers N] [--on URL] [--json]`: how fast pages are in a large year.

Every page and endpoint is opened again and again, each time after a bare view of the same reader by the same server; ratios of
one run are what counts. Then two hundred readers at once, without and with pulls. Status 0 unless something broke.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from time import monotonic, perf_counter, sleep
from typing import Any, NamedTuple

from tests.bench.scratch import scratch_database, start_django

MOST_QUERIES, MOST_RATIO, MOST_KIB, MOST_UNDER_PULLS = 12, 4.0, 120, 2.0
HOST = "127.0.0.1"
RUNS, REQUESTS, READERS, EACH = 10_000_000, 30, 200, 4


class Seen(NamedTuple):
    """A page as one reader met it: seconds of each request, and those of the bare view between them."""

    who: str
    address: str
    queries: int
    seconds: list[float]
    bare: list[float]

    @property
    def ratio(self) -> float:
        """P95 against the bare view's."""
        return p95(self.seconds) / p95(self.bare)

    @property
    def holds(self) -> bool:
        """Whether both bounds hold."""
        return self.queries <= MOST_QUERIES and self.ratio <= MOST_RATIO


def p95(seconds: list[float]) -> float:
    """The 95th percentile."""
    return quantiles(seconds, n=20, method="inclusive")[-1] if len(seconds) > 1 else seconds[0]


class Reader:
    """Somebody with a session or a token, over one kept connection."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._connection, self._headers = HTTPConnection(HOST, port, timeout=300), headers

    def get(self, address: str) -> tuple[float, bytes]:
        """Seconds until the whole answer was there, and its body; it must be 200."""
        begin = perf_counter()
        self._connection.request("GET", address, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{address} answers {answer.status}")
        return perf_counter() - begin, body


def main(arguments: list[str]) -> None:
    """Build the year unless it is there, serve it, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench pages", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs in the year (default: {RUNS})")
    parser.add_argument("--requests", type=int, default=REQUESTS, help=f"of each page (default: {REQUESTS})")
    parser.add_argument("--readers", type=int, default=READERS, help=f"at once (default: {READERS}; 0: leave out)")
    parser.add_argument("--on", help="a database that holds such a year already; it is left as it is")
    parser.add_argument("--part", default="", help="pages whose address has this text alone")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of tables")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
        if asked.on:
            os.environ |= {"DATABASE_URL": asked.on}
        os.environ |= {"STEELYARD_API_READS_PER_MINUTE": "1000000"}
        with nullcontext() if asked.on else scratch_database():
            if asked.on:
                os.environ.setdefault("BROKER_URL", "memory://")
                start_django()
            else:
                from tests.bench.large_year import build

                begin = monotonic()
                build(asked.runs, lambda what: print(f"{monotonic() - begin:7.0f} s  {what}", file=sys.stderr))
            with serving(Path(folder)) as port:
                report(measured(port, asked), asked.as_json)


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """The portal as `up` serves it, with collected static files; answers its port."""
    import socket

    from django.core.management import call_command

    from portal.supervisor.children import web

    os.environ["STEELYARD_HOME"] = str(folder)
    from django.conf import settings

    settings.STATIC_ROOT = folder / "static"
    os.environ["STEELYARD_SECRET_KEY"] = settings.SECRET_KEY
    call_command("collectstatic", verbosity=0, interactive=False)
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = int(free.getsockname()[1])
    process = web(port).start()
    try:
        if process.stdout is not None:
            threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()
        wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait(60)


def wait_for(port: int) -> None:
    """Until the server answers."""
    for _ in range(600):
        try:
            Reader(port, {}).get("/health/live")
        except (OSError, RuntimeError):
            sleep(0.1)
        else:
            return
    raise RuntimeError("the server does not answer")


def measured(port: int, asked: argparse.Namespace) -> dict[str, Any]:
    """All figures."""
    from tests.bench import addresses

    found: dict[str, Any] = {"first_view": first_view(port), "seen": []}
    for listed, bare, headers in (
        (addresses.pages(), addresses.BARE, session),
        (addresses.doors(), addresses.BARE_DOOR, token),
    ):
        for who, address in listed:
            if asked.part in address:
                seen = look(port, who, address, bare, headers(who), asked.requests)
                print(f"{seen.ratio:6.1f}  {p95(seen.seconds) * 1000:7.0f} ms  {who} {address}", file=sys.stderr)
                found["seen"].append(seen)
    if asked.readers:
        found["idle"] = crowd(port, asked.readers)
        with pulling():
            found["pulls"] = crowd(port, asked.readers)
    return found


def session(who: str) -> dict[str, str]:
    """The cookie of a session of theirs."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    from governance.access.models import Person

    person, store = Person.objects.get(username=who), SessionStore()
    store[SESSION_KEY], store[HASH_SESSION_KEY] = str(person.pk), person.get_session_auth_hash()
    store[BACKEND_SESSION_KEY] = "governance.access.backends.PasswordBackend"
    store.create()
    return {"Cookie": f"sessionid={store.session_key}"}


def token(who: str) -> dict[str, str]:
    """The header of a token of theirs, which another run may have made for nobody to read."""
    from governance.access.actor import Actor
    from governance.access.models import Person
    from governance.tokens import actions as tokens
    from governance.tokens.models import PersonalToken

    person = Person.objects.get(username=who)
    PersonalToken.objects.filter(person=person, name="bench").delete()
    _token, secret = tokens.issue("bench", ("read",), 1, actor=Actor.of(person))
    return {"Authorization": f"Bearer {secret}"}


def look(port: int, who: str, address: str, bare: str, headers: dict[str, str], requests: int) -> Seen:
    """Open a page and the bare view in turn."""
    reader = Reader(port, headers)
    for _ in range(3):
        reader.get(address), reader.get(bare)
    seconds, between = [], []
    for _ in range(requests):
        seconds.append(reader.get(address)[0])
        between.append(reader.get(bare)[0])
    return Seen(who, address, questions(address, headers), seconds, between)


def questions(address: str, headers: dict[str, str]) -> int:
    """How many the page asks of the database."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from governance.doors.throttling import COUNTS

    client = Client(SERVER_NAME=HOST, headers={name.lower(): value for name, value in headers.items()})
    client.get(address)
    COUNTS.clear()
    with CaptureQueriesContext(connection) as asked:
        client.get(address)
    return len(asked)


def first_view(port: int) -> int:
    """Bytes of the home page with its styles and scripts, compressed; what charts load comes on top."""
    reader = Reader(port, session("finance"))
    home = reader.get("/")[1]
    files = set(re.findall(rb'(?:href|src)="(/static/[^"]+\.(?:css|js|svg|woff2))"', home))
    bodies = [
        home,
        *(reader.get(name.decode())[1] for name in sorted(files) if b"chart" not in name and b"plotly" not in name),
    ]
    return sum(len(gzip.compress(body, 6)) for body in bodies)


class Crowd(NamedTuple):
    """Many readers at once: seconds of every request, and what went wrong."""

    seconds: list[float]
    errors: list[str]


def crowd(port: int, readers: int) -> Crowd:
    """Each reader opens a few pages, one after the other, all at the same time; their mix is the same in every call."""
    from tests.bench import addresses

    listed = [
        (who, address) for who, address in addresses.pages() if address.startswith(("/jobs/", "/ledger/", "/catalog/"))
    ]
    listed += [(who, "/") for who in ("vision-head", "operator", "vision-member")] * 4
    headers = {who: session(who) for who in {who for who, _ in listed}}
    found = Crowd([], [])
    gate = threading.Barrier(readers)

    def read(number: int) -> None:
        gate.wait()
        for step in range(EACH):
            who, address = listed[(number * 7 + step * 3) % len(listed)]
            try:
                found.seconds.append(Reader(port, headers[who]).get(address)[0])
            except (OSError, RuntimeError) as fault:
                found.errors.append(f"{address}: {fault}")

    threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@contextmanager
def pulling() -> Iterator[None]:
    """A process beside that brings records in and meters the days they touch, again and again, as pulls do."""
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.pages_pull"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()  # it has begun
        yield
        if process.poll() is not None:
            raise RuntimeError("the pulls have ended before their readers")
    finally:
        process.terminate()
        process.wait(60)


def report(found: dict[str, Any], as_json: bool) -> None:
    """Print the figures and which bounds they keep."""
    seen: list[Seen] = found["seen"]
    if as_json:
        rows = [
            {"who": s.who, "address": s.address, "queries": s.queries, "p50": median(s.seconds), "p95": p95(s.seconds), "ratio": s.ratio}
            for s in seen
        ]  # fmt: skip
        crowds = {
            name: {"p95": p95(c.seconds), "errors": c.errors} for name, c in found.items() if isinstance(c, Crowd)
        }
        print(json.dumps({"pages": rows, "first_view_bytes": found["first_view"], **crowds}, indent=1))
        return
    print(f"{'queries':>7}  {'p50 ms':>7}  {'p95 ms':>7}  {'bare':>6}  {'ratio':>6}  page")
    for s in sorted(seen, key=lambda one: -one.ratio):
        times = f"{median(s.seconds) * 1000:7.1f}  {p95(s.seconds) * 1000:7.1f}  {p95(s.bare) * 1000:6.1f}"
        print(f"{s.queries:7}  {times}  {s.ratio:6.1f}  {'' if s.holds else 'NOT REACHED '}{s.who} {s.address}")
    kept = sum(one.holds for one in seen)
    print(
        f"{kept} of {len(seen)} pages and endpoints: <= {MOST_QUERIES} queries and p95 <= {MOST_RATIO:g} x the bare view"
    )
    size = found["first_view"] / 1000
    print(f"first view {size:.0f} kB gzip, goal <= {MOST_KIB}: {'reached' if size <= MOST_KIB else 'NOT REACHED'}")
    if "idle" in found:
        idle, pulls = found["idle"], found["pulls"]
        ratio = p95(pulls.seconds) / p95(idle.seconds)
        errors = len(idle.errors) + len(pulls.errors)
        verdict = "reached" if ratio <= MOST_UNDER_PULLS and not errors else "NOT REACHED"
        print(
            f"{len(idle.seconds)} requests of many readers at once: p95 {p95(idle.seconds):.2f} s, while pulls run"
            f" {p95(pulls.seconds):.2f} s, ratio {ratio:.2f}, goal <= {MOST_UNDER_PULLS:g}, {errors} errors: {verdict}"
        )
        for error in [*idle.errors, *pulls.errors][:5]:
            print(f"  {error}")
