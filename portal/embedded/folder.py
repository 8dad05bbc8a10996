"""The home folder: where an installation keeps its database, its broker, its logs and its secrets."""

import json
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from portal.embedded.errors import EmbeddedError

PROJECT_ROOT = Path(__file__).resolve().parents[2]


def home() -> Path:
    """The folder named by STEELYARD_HOME, else `.steelyard` in the project; made with mode 0700 when missing.

    Raises EmbeddedError when it cannot be made or belongs to somebody else.
    """
    path = Path(os.environ.get("STEELYARD_HOME") or PROJECT_ROOT / ".steelyard").expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise EmbeddedError(
            f"The home folder {path} cannot be made: {fault.strerror}. Set STEELYARD_HOME to a folder you may write."
        ) from fault
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise EmbeddedError(
            f"The home folder {path} belongs to user id {path.stat().st_uid} and is closed to user id {os.geteuid()}. "
            "Run as that user, or set STEELYARD_HOME to a folder of your own."
        )
    return path


def private_text(name: str, make: Callable[[], str]) -> str:
    """The text of the 0600 file `name` in the home folder, made once; two processes that race get the same text."""
    path = home() / name
    if not path.exists():
        fresh = path.with_name(f"{name}.{os.getpid()}.{secrets.token_hex(4)}")
        write_private(fresh, make() + "\n")
        try:
            os.link(fresh, path)  # unlike a rename, a link never replaces what another process has just made
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text(encoding="utf-8").strip()


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` with mode 0600 from the first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Replace the state file at once, so that a reader sees the old state or the new one, never half."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    write_private(fresh, json.dumps(state) + "\n")
    fresh.replace(path)


def read_state(path: Path) -> dict[str, Any]:
    """The state file, or an empty dict when there is none or it does not parse."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def secret_key() -> str:
    """Django's secret key of this home, made once."""
    return private_text("secret_key", lambda: secrets.token_urlsafe(50))


def demo_password() -> str:
    """The one password of every demo sign-in of this home, made once."""
    return private_text("demo_password", lambda: secrets.token_urlsafe(9))


def free_port(preferred: int | None = None) -> int:
    """A TCP port that nobody listens on at 127.0.0.1; the preferred one where it is free."""
    for candidate in (preferred or 0, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", candidate))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise EmbeddedError("No TCP port is free on 127.0.0.1.")
