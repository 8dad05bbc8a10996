"""A real HTTP server on this machine that answers as it is told, and keeps what it was sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from governance.notices import channels
from governance.notices.models import Channel
from tests.cast import Cast

Answering = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Got:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """What came, and how the next request is answered."""

    url: str = ""
    got: list[Got] = field(default_factory=list)
    answering: Answering = lambda handler: say(handler, 200, b"ok")


def say(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    """A whole answer."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def drip(piece: bytes, times: int, pause: float) -> Answering:
    """A body that never ends soon."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(times):
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(pause)

    return answer


@contextmanager
def receiving() -> Iterator[Receiver]:
    """`with receiving() as receiver:` on a free port of 127.0.0.1."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            receiver.got.append(Got(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            try:
                receiver.answering(self)
            except OSError:
                self.close_connection = True  # the portal hung up

        do_GET = do_POST

        def log_message(self, *given: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def channel_of(cast: Cast, who: str, url: str, kind: str = "webhook", **more: Any) -> tuple[Channel, str]:
    """A channel of somebody's, with its secret."""
    return channels.add(kind, f"{who}'s", url, actor=cast.actor(who), language="en", **more)
