"""The portal of the chaos: `manage.py up` on a home of its own, its processes by role, and what it says is wrong."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import unescape
from pathlib import Path
from typing import Any

import psycopg

from portal.embedded.folder import free_port, read_state
from portal.embedded.server_user import server_folder

PROJECT = Path(__file__).resolve().parents[2]
PASSWORD = "chaos and order 2026"
HOLD = "import sys; from portal import embedded; print(embedded.database_url(), flush=True); sys.stdin.readline()"
#: Short, so that minutes show what otherwise takes hours.
PACE = {
    "STEELYARD_PULL_SECONDS": "5",
    "STEELYARD_METER_SECONDS": "5",
    "STEELYARD_POST_SECONDS": "7",
    "STEELYARD_LEASE_SECONDS": "10",
    "STEELYARD_SWEEP_SECONDS": "3",
    "STEELYARD_BEAT_LEASE_SECONDS": "6",
    "STEELYARD_LANGUAGE": "en",
}


def children_of(pid: int) -> dict[int, str]:
    """Process ids and command lines of the children of `pid`."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found[int(stat.parent.name)] = (stat.parent / "cmdline").read_text().replace("\0", " ")
    return found


class ChaosPortal:
    """One supervisor, started again whenever it has died, as an init system does."""

    def __init__(self, home: Path, env: dict[str, str]) -> None:
        dropped = ("DATABASE_URL", "BROKER_URL", "PORT")
        self.home, self.port = home, free_port()
        self.env = {name: text for name, text in env.items() if name not in dropped}
        self.env |= {**PACE, "STEELYARD_HOME": str(home), "PYTHONPATH": str(PROJECT)}
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self._log = home.parent / "up.log"

    def look(self) -> None:
        """Start the supervisor where it does not run."""
        if self.process is not None and self.process.poll() is None:
            return
        self.starts += 1
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--no-demo", "--port", str(self.port)],
                cwd=PROJECT,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def pid_of(self, role: str) -> int | None:
        """The process of a role: supervisor, worker, child, beat, broker, database; None where it does not run."""
        if self.process is None or self.process.poll() is not None:
            return None
        if role == "supervisor":
            return self.process.pid
        if role == "database":
            with suppress(OSError, ValueError):
                return int((server_folder(self.home) / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
            return None
        marks = {"worker": " worker ", "child": " worker ", "beat": " beat ", "broker": "valkey-server"}
        mains = [pid for pid, command in children_of(self.process.pid).items() if marks[role] in command]
        if role != "child":
            return mains[0] if mains else None
        forked = [pid for main in mains for pid in children_of(main)]
        return forked[0] if forked else None

    def manage(self, *words: str, url: str = "", seconds: float = 300) -> subprocess.CompletedProcess[str]:
        """Run one of manage.py's commands on this home, or on another database of it."""
        env = {**self.env, **({"DATABASE_URL": url, "BROKER_URL": "memory://"} if url else {})}
        command = [sys.executable, *(words if words[0] == "-m" else ("manage.py", *words))]
        return subprocess.run(
            command, cwd=PROJECT, env=env, capture_output=True, text=True, timeout=seconds, check=False
        )

    def url(self, name: str = "steelyard") -> str:
        """The address of a database of the embedded server, which this does not start."""
        port = read_state(self.home / "database.json").get("port")
        password = (self.home / "database_password").read_text().strip()
        return f"postgresql://steelyard:{urllib.parse.quote(password)}@127.0.0.1:{port}/{name}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the database up while the supervisor does not run: by a process of its own, since ours may hold another home's."""
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD],
            cwd=PROJECT,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert holder.stdout is not None and holder.stdout.readline()
            yield
        finally:
            holder.communicate("\n", timeout=120)

    def ready(self) -> dict[str, str]:
        """What /health/ready says; {"status": "no answer"} when nobody is there."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready", timeout=10) as answer:
                return dict(json.loads(answer.read()))
        except urllib.error.HTTPError as answer:
            with suppress(ValueError):
                return dict(json.loads(answer.read()))
            return {"status": f"HTTP {answer.code}"}
        except OSError:
            return {"status": "no answer"}

    def until_ready(self, seconds: float) -> bool:
        """Wait until everything answers, starting the supervisor again where it ended."""
        deadline = time.monotonic() + seconds
        while self.ready()["status"] != "ok":
            if time.monotonic() > deadline:
                return False
            self.look()
            time.sleep(0.5)
        return True

    def stop(self) -> int | None:
        """Stop it in order; its exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def deaths(self) -> dict[str, int]:
        """How often the supervisor's own log says that a process or the database had died."""
        log = self.home / "logs" / "steelyard.log"
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        found = {
            name: len(re.findall(rf"\| {name} ended with status", text)) for name in ("web", "worker", "beat", "broker")
        }
        return found | {"database": text.count("the database had died")}

    def said(self) -> str:
        """The end of what the supervisor and its children wrote, for whoever looks for the reason."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-4000:] if self._log.exists() else ""


class Reader:
    """Somebody who is signed in and looks at the operations page."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}"
        self._cookies = http.cookiejar.CookieJar()
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies)).open
        self._is_in = False

    def page(self, path: str) -> str:
        """The text of a page; empty where there is none to be had."""
        try:
            if not self._is_in:
                self._sign_in()
            with self._open(f"{self._address}{path}", timeout=10) as answer:
                text = answer.read().decode() if answer.url.endswith(path) else ""
        except OSError:
            return ""
        self._is_in = bool(text)
        return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", text)))

    def _sign_in(self) -> None:
        with self._open(f"{self._address}/sign-in/", timeout=10) as answer:
            form = answer.read().decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
        shown = {"csrfmiddlewaretoken": token[1] if token else ""}
        # In English, as the sentences are that are looked for.
        self._post("/language/", {"language": "en", **shown})
        self._post("/sign-in/", {"username": "ops", "password": PASSWORD, **shown})

    def _post(self, path: str, given: dict[str, str]) -> None:
        with self._open(self._address + path, urllib.parse.urlencode(given).encode(), timeout=10):
            pass


class Watcher:
    """Notes what is said to be wrong: by the tables and /health/ready twice a second, by the operations pages as fast as they come."""

    def __init__(self, portal: ChaosPortal) -> None:
        self.over = threading.Event()
        self.seen: list[tuple[float, str]] = []  # (monotonic, sign)
        self.on_page: set[str] = set()
        self.pages = 0
        self._portal, self._reader = portal, Reader(portal.port)
        looks = (self._look, self._read)
        self._threads = [threading.Thread(target=look, name="watcher", daemon=True) for look in looks]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End."""
        self.over.set()
        for thread in self._threads:
            thread.join(30)

    def _look(self) -> None:
        while not self.over.wait(0.5):
            health = self._portal.ready()
            signs = {f"health: {health['status']}"} if health["status"] != "ok" else set()
            signs |= {f"health: {name} {_plain(said)}" for name, said in health.items() if _is_bad(name, said)}
            with suppress(psycopg.Error, OSError):
                signs |= self._told()
            now = time.monotonic()
            self.seen += [(now, sign) for sign in signs]

    def _read(self) -> None:
        while not self.over.wait(2.0):
            page = self._reader.page("/ops/") + self._reader.page("/ops/clusters/lab/")
            now = time.monotonic()
            self.pages += bool(page)
            lately = {sign for at, sign in self.seen if at > now - 15 and not sign.startswith("health")}
            self.on_page |= {sign for sign in lately if _words_of(sign) in page}

    def _told(self) -> set[str]:
        with psycopg.connect(self._portal.url(), connect_timeout=3, autocommit=True) as connection:
            errors = connection.execute(
                "SELECT kind, last_error_code, last_error, last_error_params FROM work_item WHERE last_error <> ''"
            ).fetchall()
            findings = connection.execute(
                "SELECT code, subject, detail FROM pull_finding WHERE resolved_at IS NULL"
            ).fetchall()
            nodes = connection.execute(
                "SELECT name, state FROM node_seen WHERE state = 'DOWN' OR flags ? 'NOT_RESPONDING'"
            ).fetchall()
            silent = connection.execute(
                "SELECT DISTINCT role FROM work_process WHERE seen_at < clock_timestamp() - interval '45 s'"
            ).fetchall()
        said = {f"{kind} {code}: {_sentence(words, given)}" for kind, code, words, given in errors}
        said |= {
            f"finding {code} {subject if code == 'source_fault' else ''} {detail.get('daemon', '')}".strip()
            for code, subject, detail in findings
        }
        return said | {f"node {name} {state}" for name, state in nodes} | {f"silent {role}" for (role,) in silent}


def _sentence(words: str, given: dict[str, Any]) -> str:
    return re.sub(r"\s+", " ", words % given if given else words)


def _words_of(sign: str) -> str:
    """What of a sign a page must show: the beginning of a sentence (pages cut long ones), the daemon or node it names."""
    return sign.partition(": ")[2][:120] or sign.split()[1 if sign.startswith("node") else -1]


def _is_bad(name: str, said: str) -> bool:
    return name != "status" and not str(said).startswith(("ok", "seen", "configured", "unknown"))


def _plain(said: str) -> str:
    return re.sub(r"\d+ s", "N s", said)


def alive(pid: int | None) -> bool:
    """Whether the process runs."""
    with suppress(OSError):
        return pid is not None and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def kill(pid: int | None, number: int = signal.SIGKILL) -> bool:
    """Send the signal; False where there is nobody."""
    if pid is None or not alive(pid):
        return False
    with suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False
