"""The embedded PostgreSQL: started by its first user, stopped by its last, kept and reused after a kill.

Every process that uses it holds a shared lock for as long as it lives. A process that leaves gives up its hold and
tries to get the lock alone: whoever succeeds was the last and stops the server. A forked child shares its parent's
hold, so a child that ends first cannot stop the server, nor can a parent while a child still works.
"""

import atexit
import os
import secrets
import shutil
import signal
import sys
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg

from portal.embedded import locks
from portal.embedded.errors import EmbeddedError
from portal.embedded.folder import free_port, home, private_text, read_state, write_private, write_state
from portal.embedded.processes import command_of, is_alive
from portal.embedded.server_user import ServerUser, server_folder, server_user

DATABASE = "steelyard"
USER = "steelyard"
START_SECONDS = 180  # recovery after a kill may have to replay up to max_wal_size
STOP_SECONDS = 60
LOG_BYTES = 10_000_000

SETTINGS = """\
# Written anew at every start by portal/embedded/postgres.py.
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
max_connections = 100
shared_buffers = 256MB
work_mem = 64MB
maintenance_work_mem = 256MB
max_wal_size = 4GB
synchronous_commit = on
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
dynamic_shared_memory_type = {shared_memory}
"""


@dataclass
class Hold:
    """This process's part in keeping one server up."""

    home: Path
    url: str
    descriptor: int


@dataclass
class _Process:
    """What this process holds; a lock of its own, since a fork may copy it while another thread holds it."""

    guard: threading.RLock = field(default_factory=threading.RLock)
    holds: dict[Path, Hold] = field(default_factory=dict)


_process = _Process()


def _after_fork() -> None:
    _process.guard = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def database_url() -> str:
    """Address of the embedded database, which this call starts when needed and holds until this process ends.

    Raises EmbeddedError when the server cannot be had.
    """
    place = home()
    with _process.guard:
        if place not in _process.holds:
            with _start_and_stop_of(place):
                descriptor = locks.hold_shared(place / "database.users")
                try:
                    url = _running_url(place) or _start(place)
                except BaseException:
                    os.close(descriptor)
                    raise
            _process.holds[place] = Hold(place, url, descriptor)
        return _process.holds[place].url


def revive_database() -> str | None:
    """Start the server that this process holds again where it has died; its address when that was so, else None.

    Nothing is lost by its death but what was not committed. Raises EmbeddedError when it does not start.
    """
    with _process.guard:
        hold = _process.holds.get(home())
        if hold is None or _postmaster(server_folder(hold.home)) is not None:
            return None
        with _start_and_stop_of(hold.home):
            hold.url = _running_url(hold.home) or _start(hold.home)
        return hold.url


def release_database() -> bool:
    """Give up this process's hold; True when it was the last one and the server has been stopped."""
    stopped = False
    with _process.guard:
        for hold in list(_process.holds.values()):
            stopped = _leave(hold) or stopped
            del _process.holds[hold.home]
    return stopped


def stop_unused_database() -> bool:
    """Stop a server that a killed process left behind; False when it is used or does not run."""
    place = home()
    with _start_and_stop_of(place):
        return _stop_if_unused(place)


def is_running() -> bool:
    """Whether the embedded server of this home answers."""
    return _running_url(home()) is not None


@atexit.register
def _leave_at_exit() -> None:
    try:
        release_database()
    except (EmbeddedError, OSError) as fault:
        print(f"The embedded PostgreSQL was left running: {fault}", file=sys.stderr)


def _start_and_stop_of(place: Path) -> AbstractContextManager[None]:
    return locks.exclusive(place / "database.lock", wait_seconds=START_SECONDS + STOP_SECONDS)


def _leave(hold: Hold) -> bool:
    with _start_and_stop_of(hold.home):
        # Only closed, never unlocked: forked children may still work under this same hold.
        os.close(hold.descriptor)
        return _stop_if_unused(hold.home)


def _stop_if_unused(place: Path) -> bool:
    alone = locks.hold_alone(place / "database.users")
    if alone is None:
        return False
    try:
        return _stop(server_folder(place))
    finally:
        os.close(alone)


def _url(place: Path, port: int) -> str:
    password = private_text("database_password", lambda: secrets.token_urlsafe(24))
    return f"postgresql://{USER}:{quote(password)}@127.0.0.1:{port}/{DATABASE}"


def _running_url(place: Path) -> str | None:
    """The address of a server that answers to our password; waits for one that is starting, None when none runs."""
    port = read_state(place / "database.json").get("port")
    if not isinstance(port, int):
        return None
    url = _url(place, port)
    deadline = time.monotonic() + START_SECONDS
    while (pid := _postmaster(server_folder(place))) is not None:
        try:
            psycopg.connect(url, connect_timeout=10).close()
        except psycopg.OperationalError as fault:
            if "too many clients" in str(fault) or "reserved for" in str(fault):
                return url
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"The embedded PostgreSQL runs (process {pid}) but does not answer: {str(fault).strip()}. "
                    f"Its log is {server_folder(place) / 'server.log'}."
                ) from fault
            if "does not exist" in str(fault):  # killed between its first start and CREATE DATABASE
                _make_database(url)
            time.sleep(0.05)
        else:
            return url
    return None


def _start(place: Path) -> str:
    user = server_user(place)
    _refuse_a_foreign_folder(user)
    user.take_over()
    data = user.folder / "data"
    if not data.exists():
        _initialise(place, user, data)
    _refuse_another_version(user, data)
    _clear_a_stale_pid_file(user.folder)
    log = user.folder / "server.log"
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_name("server.log.1"))
    port = int(read_state(place / "database.json").get("port", 0)) or None
    for _attempt in range(3):  # a port that was free a moment ago may be gone
        port = free_port(port)
        (data / "steelyard.conf").write_text(SETTINGS.format(port=port, shared_memory=_shared_memory()))
        before = log.stat().st_size if log.exists() else 0
        done = user.run("pg_ctl", "start", "-D", data, "-l", log, "-w", "-t", str(START_SECONDS), timeout=200)
        if done.returncode == 0:
            write_state(place / "database.json", {"port": port})
            url = _url(place, port)
            _make_database(url)
            return url
        said = _said(log, before)
        if "could not bind" not in said:
            break
        port = None
    raise EmbeddedError(f"The embedded PostgreSQL did not start. Its log, {log}, ends:\n{said or done.stderr.strip()}")


def _initialise(place: Path, user: ServerUser, data: Path) -> None:
    """Make the data folder beside its place and move it there whole, so that a kill leaves nothing half made."""
    fresh = user.folder / "data.new"
    shutil.rmtree(fresh, ignore_errors=True)
    password = user.folder / "password.new"
    write_private(password, private_text("database_password", lambda: secrets.token_urlsafe(24)) + "\n")
    if user.becomes_nobody:
        os.chown(password, user.owner, user.owner)
    try:
        done = user.run(
            "initdb",
            *("-D", fresh, "-U", USER, f"--pwfile={password}", "--encoding=UTF8", "--locale=C.UTF-8"),
            *("--auth-host=scram-sha-256", "--auth-local=scram-sha-256", "--no-instructions"),
            timeout=120,
        )
    finally:
        password.unlink()
    if done.returncode != 0:
        raise EmbeddedError(f"The embedded PostgreSQL could not make its data folder {data}:\n{done.stderr.strip()}")
    with (fresh / "postgresql.conf").open("a", encoding="utf-8") as configuration:
        configuration.write("\ninclude_if_exists = 'steelyard.conf'\n")
    fresh.rename(data)


def _make_database(url: str) -> None:
    server = url.rpartition("/")[0] + "/postgres"
    with psycopg.connect(server, autocommit=True, connect_timeout=10) as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if known is None:
            connection.execute(f'CREATE DATABASE "{DATABASE}"')


def _stop(folder: Path) -> bool:
    pid = _postmaster(folder)
    if pid is None:
        return False
    os.kill(pid, signal.SIGINT)  # "fast": sessions are ended, what they committed is on disk
    deadline = time.monotonic() + STOP_SECONDS
    while is_alive(pid):
        if time.monotonic() > deadline:
            raise EmbeddedError(
                f"Process {pid} did not stop within {STOP_SECONDS} seconds; see {folder / 'server.log'}"
            )
        time.sleep(0.01)
    return True


def _postmaster(folder: Path) -> int | None:
    """The process id of the server of this folder, when it is alive and really a PostgreSQL on this data."""
    try:
        pid = int((folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None
    return pid if is_alive(pid) and _works_on(pid, folder / "data") else None


def _works_on(pid: int, data: Path) -> bool:
    """Whether `pid` is a PostgreSQL whose working folder is `data`, under whatever name it was given that folder."""
    command = command_of(pid)
    try:
        return "postgres" in command and os.path.samefile(f"/proc/{pid}/cwd", data)
    except OSError:
        return str(data) in command


def _clear_a_stale_pid_file(folder: Path) -> None:
    """Remove a pid file whose number now belongs to another program, which PostgreSQL itself would take for a server.

    A number that nobody has is left to PostgreSQL, which then also looks for orphans on the shared memory.
    """
    pid_file = folder / "data" / "postmaster.pid"
    try:
        pid = abs(int(pid_file.read_text().split("\n", 1)[0]))
    except (OSError, ValueError):
        return
    if _postmaster(folder) is None and Path(f"/proc/{pid}").exists():
        pid_file.unlink(missing_ok=True)


def _refuse_a_foreign_folder(user: ServerUser) -> None:
    if any(mark in str(user.folder) + str(user.binaries) for mark in '"$`\\\n'):
        raise EmbeddedError(f'PostgreSQL cannot work below a path with one of " $ ` \\ in its name: {user.folder}')
    try:
        owner = user.folder.stat().st_uid
    except FileNotFoundError:
        return
    if os.geteuid() != 0 and owner != user.owner:
        raise EmbeddedError(
            f"The database folder {user.folder} belongs to user id {owner}, and this is user id {user.owner}. "
            "Run as that user, or set STEELYARD_HOME to a folder of your own."
        )


def _refuse_another_version(user: ServerUser, data: Path) -> None:
    made_by = (data / "PG_VERSION").read_text().strip()
    ours = user.run("postgres", "--version", timeout=30).stdout.split()[-1].split(".")[0]
    if made_by != ours:
        raise EmbeddedError(
            f"The database folder {data} was made by PostgreSQL {made_by}; this release brings PostgreSQL {ours}. "
            "Dump it with the release that made it and load it here (docs/operations.md), or move it away."
        )


def _shared_memory() -> str:
    """Files instead of /dev/shm where that is small, as in many containers: parallel queries would fail there."""
    try:
        room = os.statvfs("/dev/shm")  # noqa: S108  not a temporary file: only its size is asked
    except OSError:
        return "mmap"
    return "posix" if room.f_frsize * room.f_blocks >= 1 << 30 else "mmap"


def _said(log: Path, since: int) -> str:
    try:
        with log.open("rb") as file:
            file.seek(since)
            return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-15:])
    except OSError:
        return ""
