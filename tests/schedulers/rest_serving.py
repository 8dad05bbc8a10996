"""A real HTTP server that answers as slurmrestd does, or as it should not: whole, halved, slow, silent."""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from governance.schedulers.registry import connect
from governance.schedulers.slurm.rest import SlurmRest
from tests.schedulers.slurm_reading import RECORDED

NOW = 1_772_450_000


class Reply(NamedTuple):
    """What a path answers."""

    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    promised: int | None = None  # Content-Length, where it is not the body's
    pause_s: float = 0.0  # before the first byte
    drip_s: float = 0.0  # between bytes
    date: str = ""
    hang_up: bool = False  # without a word


def said(content: Any, **more: Any) -> Reply:
    """A JSON answer."""
    return Reply(json.dumps(content).encode(), **more)


def errors(*these: dict[str, Any], status: int = 200, **content: Any) -> Reply:
    """An answer with errors in it."""
    return said({"errors": list(these), **content}, status=status)


class Asked(NamedTuple):
    """A question that came in."""

    path: str
    raw_query: str
    query: dict[str, list[str]]
    headers: dict[str, str]


class Daemon:
    """The answers of a slurmrestd by path, and what it was asked; several answers to a path are given in turn."""

    def __init__(self, version: int = 38) -> None:
        self.version = version
        self.asked: list[Asked] = []
        self.replies: dict[str, list[Reply]] = {}
        slash = "/" if version >= 40 else ""
        self.slurm, self.slurmdb, self.slash = f"/slurm/v0.0.{version}", f"/slurmdb/v0.0.{version}", slash
        self.address = ""
        self.on("/openapi/v3", said(document(version)))
        self.on_slurm("diag", said({"errors": [], "statistics": {"req_time": NOW}}))
        self.on_slurm("ping", said({"errors": [], "pings": [{"hostname": "ctl", "ping": "UP"}]}))
        self.on_slurm("jobs", said({"errors": [], "jobs": []}))
        self.on_slurm("nodes", said({"errors": [], "nodes": []}))
        self.on_slurmdb("jobs", said({"errors": [], "jobs": []}))
        self.on_slurmdb("clusters", said({"errors": [], "clusters": [{"name": "lab"}]}))
        self.on_slurmdb("tres", said({"errors": [], "TRES": [{"type": "cpu", "name": None}]}))

    def on(self, path: str, *replies: Reply) -> None:
        """What a path answers, the last for ever."""
        self.replies[path] = list(replies)

    def on_slurm(self, thing: str, *replies: Reply) -> None:
        """What a question to slurmctld is answered."""
        self.on(f"{self.slurm}/{thing}{self.slash}", *replies)

    def on_slurmdb(self, thing: str, *replies: Reply) -> None:
        """What a question to slurmdbd is answered."""
        self.on(f"{self.slurmdb}/{thing}{self.slash}", *replies)

    def times(self, thing: str) -> int:
        """How often a thing was asked for."""
        return sum(one.path.rstrip("/").endswith(thing) for one in self.asked)

    def next_reply(self, path: str) -> Reply:
        """The answer to this path now."""
        left = self.replies.get(path)
        if not left:
            return Reply(b"Unable find requested URL. Please view /openapi/v3 for API reference.", 404, "text/plain")
        return left.pop(0) if len(left) > 1 else left[0]

    def client(self, **connection: Any) -> SlurmRest:
        """A client of this daemon, as a cluster's connection makes it."""
        made = connect(
            "slurmrestd", name="lab", connection={"url": self.address, "silent_s": 2, "total_s": 4} | connection
        )
        assert isinstance(made, SlurmRest)
        return made


def document(*versions: int, flags: tuple[str, ...] | None = None) -> dict[str, Any]:
    """An OpenAPI document as small as can be."""
    paths: dict[str, Any] = {}
    for version in versions:
        slash = "/" if version >= 40 else ""
        listed = [{"name": flag} for flag in flags] if flags is not None else None
        paths[f"/slurm/v0.0.{version}/jobs{slash}"] = {"get": {}}
        paths[f"/slurmdb/v0.0.{version}/jobs{slash}"] = {"get": {"parameters": listed} if listed else {}}
    return {"openapi": "3.0.3", "paths": paths}


def _handler(daemon: Daemon) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # noqa: N802  http.server's name
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            daemon.asked.append(Asked(parts.path, parts.query, parse_qs(parts.query), headers))
            reply = daemon.next_reply(parts.path)
            if reply.hang_up:
                self.close_connection = True
                return
            time.sleep(reply.pause_s)
            self.send_response_only(reply.status)
            self.send_header("Content-Type", reply.kind)
            if reply.status != 204:
                self.send_header(
                    "Content-Length", str(reply.promised if reply.promised is not None else len(reply.body))
                )
            if reply.date:
                self.send_header("Date", reply.date)
            self.end_headers()
            for piece in (
                [reply.body] if not reply.drip_s else [reply.body[at : at + 1] for at in range(len(reply.body))]
            ):
                try:
                    self.wfile.write(piece)
                    self.wfile.flush()
                except OSError:
                    return
                time.sleep(reply.drip_s)
            if reply.promised is not None and reply.promised > len(reply.body):
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def address_string(self) -> str:
            return "local"

    return Handler


class _UnixServer(socketserver.ThreadingMixIn, HTTPServer):
    address_family = socket.AF_UNIX
    daemon_threads = True

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", 0


@contextmanager
def serving(version: int = 38, *, unix: Path | None = None, tls: ssl.SSLContext | None = None) -> Iterator[Daemon]:
    """A daemon that listens on a free port of this host, or on a Unix socket, until the block ends."""
    daemon = Daemon(version)
    server: HTTPServer
    if unix is not None:
        server = _UnixServer(str(unix), _handler(daemon))  # type: ignore[arg-type]
    else:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(daemon))
        server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "https" if tls is not None else "http"
    daemon.address = f"{scheme}://127.0.0.1:{server.server_port}" if unix is None else ""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield daemon
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def recorded(name: str) -> bytes:
    """A made-up answer of the project's own."""
    return (RECORDED / name).read_bytes()
