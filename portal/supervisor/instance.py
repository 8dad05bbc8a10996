"""One supervisor per home, and a port of its own."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.utils.translation import gettext as _

from portal.embedded import locks
from portal.embedded.folder import read_state, write_state


class CannotStart(Exception):  # noqa: N818  it is an answer to the person at the terminal
    """Why `up` does not start, in a sentence that names the way out."""


@contextmanager
def only_one(home: Path, address: str) -> Iterator[None]:
    """Hold the home for one supervisor; CannotStart names the address of the one that already runs."""
    held = locks.hold_alone(home / "up.lock")
    if held is None:
        running = read_state(home / "up.json")
        raise CannotStart(
            _("Steelyard already runs at %(address)s (process %(pid)s, home %(home)s).")
            % {"address": running.get("address", "?"), "pid": running.get("pid", "?"), "home": home}
        )
    try:
        write_state(home / "up.json", {"address": address, "pid": os.getpid()})
        yield
    finally:
        (home / "up.json").unlink(missing_ok=True)
        os.close(held)


def require_free_port(port: int) -> None:
    """CannotStart when the port cannot be listened on at 127.0.0.1."""
    if not 1 <= port <= 65535:
        raise CannotStart(_("%(port)d is not a port: choose one from 1 to 65535.") % {"port": port})
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as fault:
            if fault.errno == errno.EADDRINUSE:
                reason = _("Port %(port)d is taken by another program.")
            else:
                reason = _("Port %(port)d may not be used here.")
            remedy = _("Choose another one: `make up PORT=%(other)d`, or `manage.py up --port %(other)d`.")
            other = port + 1 if 1024 <= port < 65535 else 8001
            raise CannotStart(reason % {"port": port} + " " + remedy % {"other": other}) from fault
