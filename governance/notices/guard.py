"""Sending to an address that a person typed: only where it may go, once, within a deadline, and with a bounded answer.

Every address is looked at as it is connected to, so a name that changes its address meanwhile gains nothing; redirects
are answers like any other.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpcore
from django.conf import settings

from governance.errors import N_, BadData

#: Seconds for everything: name, connection, sending, the whole answer.
DEADLINE_SECONDS = 10.0
HEAD_BYTES = 2048
LONGEST_URL = 1000

BAD_URL = N_(
    "“%(url)s” is no address to send to. Write one that begins with https:// or http://, without a login in it."
)
NOT_THERE = N_(
    "%(host)s is an address of this machine or of its network link, to which nothing is sent. Give another, or let the"
    " administrator set STEELYARD_CHANNELS_LOCAL."
)
NOT_PRIVATE = N_("%(host)s is a private address, and this installation sends to public ones alone.")

#: Where clouds answer with credentials, beside the link-local one.
METADATA = [ipaddress.ip_network(one) for one in ("100.100.100.200/32", "fd00:ec2::254/128", "fd20:ce::254/128")]
#: IPv6 that wraps an IPv4 address, by its last four bytes.
NAT64 = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Answer:
    """What came back. `status` is None where nothing did, and `fault` says why: refused, no_name, no_connection, timeout, tls, broken."""

    status: int | None
    head: str
    took_ms: int
    fault: str = ""


class Refused(Exception):  # noqa: N818  what has happened, as DomainErrors do
    """An address to which nothing is sent."""


def check_url(url: str) -> None:
    """Raise BadData for what is no address to send to, or is one, spelled out, to which nothing is sent."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        raise BadData(BAD_URL, url=url[:100]) from None
    shaped = parts.scheme in ("https", "http") and host and parts.username is None and parts.password is None
    if not shaped or len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise BadData(BAD_URL, url=f"{parts.scheme}://{host}"[:100])
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        if host.rstrip(".").lower() == "localhost" or host.lower().endswith(".localhost"):
            literal = ipaddress.ip_address("127.0.0.1")
        else:
            return
    why = refused(literal)
    if why:
        raise BadData(NOT_THERE if why == "local" else NOT_PRIVATE, host=host[:100])


def refused(address: Address) -> str:
    """Why nothing is sent to this address: "local", "private", or "" where something is."""
    address = _inner(address)
    is_local = (
        address.is_loopback
        or address.is_link_local
        or address.is_unspecified
        or address.is_multicast
        or address.is_reserved
        or any(address in network for network in METADATA if network.version == address.version)
    )
    if is_local:
        return "" if settings.CHANNELS_LOCAL else "local"
    if not address.is_global and not settings.CHANNELS_PRIVATE:
        return "private"
    return ""


def _inner(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, where it does."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return inner or address
    return address


def _resolved(host: str, port: int) -> list[str]:
    """The addresses of a host to which something may be sent. Raises Refused where any of them is not such a one."""
    found = {row[4][0] for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    addresses = [ipaddress.ip_address(str(one).split("%")[0]) for one in found]
    if any(refused(one) for one in addresses):
        raise Refused(host)
    return sorted((str(one) for one in addresses), key=lambda one: (":" in one, one))


class _Stream(httpcore.NetworkStream):
    """A stream of which every step ends by the deadline, however slowly the other side drips."""

    def __init__(self, inner: httpcore.NetworkStream, until: float) -> None:
        self._inner, self._until = inner, until

    def _left(self, timeout: float | None, late: type[Exception]) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise late("the deadline is over")
        return left if timeout is None else min(timeout, left)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._until)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Network(httpcore.NetworkBackend):
    """Connects to addresses that were looked at, and to no other."""

    def __init__(self, until: float, trusted: str) -> None:
        self._inner, self._until, self._trusted = httpcore.SyncBackend(), until, trusted

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = [host] if host == self._trusted else _resolved(host, port)
        fault: Exception | None = None
        for address in addresses:
            left = self._until - time.monotonic()
            if left <= 0:
                raise httpcore.ConnectTimeout("the deadline is over")
            try:
                return _Stream(self._inner.connect_tcp(address, port, left, None, socket_options), self._until)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                fault = failed
        raise fault or httpcore.ConnectError("no address")


def post(url: str, body: bytes, headers: Mapping[str, str], *, seconds: float | None = None) -> Answer:
    """POST `body` to `url` and answer what came back; never raises for what the other side does."""
    began = time.monotonic()
    until = began + (seconds or settings.CHANNELS_DEADLINE_SECONDS)
    status, head, fault = None, b"", ""
    try:
        status, head = _post(url, body, headers, until)
    except Refused:
        fault = "refused"
    except socket.gaierror:
        fault = "no_name"
    except (httpcore.TimeoutException, TimeoutError):
        fault = "timeout"
    except ssl.SSLError:
        fault = "tls"
    except (httpcore.NetworkError, OSError) as failed:
        fault = "tls" if "CERTIFICATE" in str(failed).upper() or "SSL" in str(failed).upper() else "no_connection"
    except (httpcore.ProtocolError, httpcore.UnsupportedProtocol, httpcore.ProxyError, ValueError, UnicodeError):
        fault = "broken"
    took = round((time.monotonic() - began) * 1000)
    return Answer(status, _shown(head), took, fault)


def _post(url: str, body: bytes, headers: Mapping[str, str], until: float) -> tuple[int, bytes]:
    proxy = settings.CHANNELS_PROXY
    network = _Network(until, urlsplit(proxy).hostname or "" if proxy else "")
    pool: httpcore.ConnectionPool = (
        httpcore.HTTPProxy(proxy, network_backend=network, retries=0)
        if proxy
        else httpcore.ConnectionPool(network_backend=network, retries=0)
    )
    sent = [("host", urlsplit(url).netloc), ("user-agent", "Steelyard"), ("accept", "*/*"), *headers.items()]
    if proxy:  # it finds the name; an address that is spelled out is still looked at
        try:
            check_url(url)
        except BadData:
            raise Refused(url) from None
    head = b""
    with pool, pool.stream("POST", url, headers=sent, content=body) as response:
        for piece in response.iter_stream():
            head += piece
            if len(head) >= HEAD_BYTES:
                break
        return response.status, head[:HEAD_BYTES]


def _shown(head: bytes) -> str:
    """The beginning of an answer as text that may be kept and shown."""
    text = head.decode("utf-8", "replace").replace("\x00", "")
    return "".join(one if one.isprintable() or one in "\n\t" else " " for one in text)
