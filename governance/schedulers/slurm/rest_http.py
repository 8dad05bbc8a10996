"""Asks slurmrestd over HTTP, on a host or a Unix socket: bounded in time and size, signed by reference, GET alone.

An answer is put down in a temporary file and read through before anything of it is used. So the daemon is not held by
a slow reader, an answer that stops in the middle gives no record at all, and asking again repeats nothing.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import ssl
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import quote, urlencode

import httpx
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from governance.schedulers.live import SourceFault
from governance.schedulers.slurm.json_records import Washing
from governance.schedulers.slurm.rest_answers import EMPTY, Survey, fault_in, survey
from governance.schedulers.slurm.runner import Patience
from governance.schedulers.slurm.words import MOST_WORDS

MOST_BYTES = 8 * 1024**3  # of an answer on disk; a day of a very large site is a tenth of it
MOST_TEXT = 64 * 1024**2  # of an answer that is held as a whole
IN_MEMORY = 1024**2  # bytes of an answer that need no file
CONNECT_S = 10.0
ATTEMPTS = 3
BETWEEN_ATTEMPTS = wait_random_exponential(multiplier=0.5, max=8)
SHORT = Patience(60, 120)
# slurmrestd takes tokens of this form alone; nothing else that a variable or a file may hold is ever sent anywhere.
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
_PASSING_STATUSES = frozenset({429, 502, 503})


@dataclass(frozen=True)
class TokenAt:
    """Where the JSON web token is: the variable of the environment or the file that holds it, as `scontrol token` prints it."""

    env: str = ""
    file: str = ""

    def read(self) -> str:
        """The token now; read anew for every question, since it is replaced before it expires. Raises "secret_missing"."""
        where = {"what": "token_env", "variable": self.env} if self.env else {"what": "token_file", "path": self.file}
        if self.env:
            held = os.environ.get(self.env, "")
            if not held:
                raise SourceFault("secret_missing", **where, words=f"the variable {self.env} is not set")
        else:
            try:
                with open(self.file, encoding="ascii", errors="replace") as source:
                    held = source.read(64 * 1024)
            except OSError as fault:
                raise SourceFault("secret_missing", **where, words=f"{self.file}: {fault.strerror}") from None
        token = held.strip().removeprefix("SLURM_JWT=").strip()
        if not _TOKEN.fullmatch(token):
            raise SourceFault("secret_missing", **where, words=f"{self.env or self.file} holds no JSON web token")
        return token


def claims(token: str) -> Mapping[str, Any]:
    """What a token says of itself (`exp`: epoch seconds, `sun`: user), unproven; empty where it cannot be read."""
    part = token.split(".")[1]
    try:
        said = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return {}
    return said if isinstance(said, Mapping) else {}


class Got(NamedTuple):
    """A whole answer without an error: its bytes (from their beginning) and what it says of itself."""

    body: BinaryIO
    survey: Survey


class Rest:
    """The way to one slurmrestd."""

    def __init__(
        self,
        *,
        url: str = "http://localhost",
        socket: str = "",
        token: TokenAt | None = None,
        user: str = "",
        ca_file: str = "",
        verify: bool = True,
        attempts: int = ATTEMPTS,
    ) -> None:
        self.url = url.rstrip("/")
        self.socket = socket
        self.token = token
        self.user = user
        self.verify = verify
        self._ca_file = ca_file
        self._attempts = attempts
        self.date_at: int | None = (
            None  # the Date of the last answer, epoch seconds: of the daemon or a proxy before it
        )

    @property
    def in_clear(self) -> bool:
        """Whether a token crosses a network unencrypted."""
        host = httpx.URL(self.url).host
        near = host in ("localhost", "::1") or host.startswith("127.")
        return bool(self.token) and not self.socket and self.url.startswith("http:") and not near

    @contextlib.contextmanager
    def get(self, path: str, params: Mapping[str, str] | None = None, *, patience: Patience = SHORT) -> Iterator[Got]:
        """The whole answer to a GET; a 204 is one of no bytes. Raises SourceFault.

        Asked again, after a pause, only where the daemon could not be reached, was too busy or broke off.
        """
        again = Retrying(
            stop=stop_after_attempt(self._attempts),
            wait=BETWEEN_ATTEMPTS,
            retry=retry_if_exception(_passes),
            reraise=True,
        )
        got: Got = again(self._whole, path, params or {}, patience)
        with got.body:
            yield got

    def json(self, path: str, params: Mapping[str, str] | None = None, *, patience: Patience = SHORT) -> dict[str, Any]:
        """The content of a short answer, {} for a 204. Raises SourceFault, "bad_answer" over MOST_TEXT bytes."""
        with self.get(path, params, patience=patience) as got:
            held = got.body.read(MOST_TEXT + 1)
        if len(held) > MOST_TEXT:
            raise SourceFault("bad_answer", path=path, words=f"more than {MOST_TEXT} bytes")
        return cast("dict[str, Any]", json.loads(held)) if held.strip() else {}

    def _whole(self, path: str, params: Mapping[str, str], patience: Patience) -> Got:
        """One attempt at a whole answer without an error."""
        token = self.token.read() if self.token else ""
        body = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115  the caller closes it
        try:
            try:
                status, kind = self._fetch(path, params, patience, token, body)
                told = _judged(path, status, kind, body)
            except SourceFault as fault:
                raise self._explained(fault, token) from None
            except OSError as fault:
                raise SourceFault(
                    "failed", path=path, kind="disk", words=f"the answer cannot be kept: {fault.strerror}"
                ) from None
            body.seek(0)
        except BaseException:
            body.close()
            raise
        return Got(body, told)

    def _explained(self, fault: SourceFault, token: str) -> SourceFault:
        """A refusal says when the token expired, and is tried again if the token has been replaced meanwhile."""
        if fault.code != "refused" or self.token is None:
            return fault
        expires = claims(token).get("exp")
        detail = dict(fault.detail)
        if isinstance(expires, int) and expires < time.time():
            detail["expired_at"] = expires
            detail["words"] = f"{detail.get('words', '')} (the token has expired)".strip()
        with contextlib.suppress(SourceFault):
            detail["replaced"] = self.token.read() != token
        return SourceFault(fault.code, **detail)

    @cached_property
    def _tls(self) -> ssl.SSLContext | bool:
        if not self.url.startswith("https:"):
            return False
        if not self.verify:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        try:
            return ssl.create_default_context(cafile=self._ca_file or None)
        except OSError as fault:
            words = f"{self._ca_file}: {fault.strerror or 'no certificate'}"
            raise SourceFault("secret_missing", what="ca_file", path=self._ca_file, words=words) from None

    def _client(self, patience: Patience) -> httpx.Client:
        # No proxy, netrc or certificate from the environment: what is asked of whom is in the connection alone.
        timeout = httpx.Timeout(patience.silent_s, connect=min(CONNECT_S, patience.silent_s))
        transport = httpx.HTTPTransport(verify=self._tls, uds=self.socket or None, trust_env=False)
        return httpx.Client(transport=transport, timeout=timeout, trust_env=False, follow_redirects=False)

    def _headers(self, token: str) -> dict[str, str]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "steelyard"}
        if token:
            headers["X-SLURM-USER-TOKEN"] = token
        if self.user:
            headers["X-SLURM-USER-NAME"] = self.user
        return headers

    def _fetch(
        self, path: str, params: Mapping[str, str], patience: Patience, token: str, body: BinaryIO
    ) -> tuple[int, str]:
        """Put an answer's bytes down in `body`, washed; (status, content type)."""
        # Written out here: slurmrestd takes neither a bare colon nor a bare comma in a query.
        query = f"?{urlencode(params, quote_via=quote, safe='')}" if params else ""
        deadline = time.monotonic() + patience.total_s
        washing = Washing()
        size = 0
        try:
            with (
                self._client(patience) as client,
                client.stream("GET", f"{self.url}{path}{query}", headers=self._headers(token)) as answer,
            ):
                self.date_at = _date(answer.headers.get("Date"))
                for data in answer.iter_bytes():
                    size += len(data)
                    if size > MOST_BYTES:
                        raise SourceFault("bad_answer", path=path, words=f"more than {MOST_BYTES} bytes")
                    if time.monotonic() > deadline:
                        raise SourceFault("timed_out", path=path, kind="total", after_s=patience.total_s)
                    body.write(washing.wash(data))
                body.write(washing.wash(b"", final=True))
                return answer.status_code, answer.headers.get("Content-Type", "")
        except httpx.HTTPError as fault:
            raise _unreached(fault, path, patience, size) from None


def _date(text: str | None) -> int | None:
    try:
        return int(parsedate_to_datetime(text or "").timestamp())
    except (ValueError, TypeError, OverflowError):
        return None


def _passes(fault: BaseException) -> bool:
    """Whether a fault may be gone in a moment. Long silence is none of them: the daemon is at work on the question still."""
    if not isinstance(fault, SourceFault):
        return False
    if fault.code == "unreachable":
        return fault.detail.get("kind") != "certificate"
    if fault.code == "refused":
        return bool(fault.detail.get("replaced"))
    return fault.code == "output_cut" or fault.detail.get("status") in _PASSING_STATUSES


def _unreached(fault: httpx.HTTPError, path: str, patience: Patience, size: int) -> SourceFault:
    """What kept an answer from coming, or from coming whole."""
    words = str(fault)[:MOST_WORDS] or type(fault).__name__
    if isinstance(fault, httpx.ConnectTimeout):
        return SourceFault("unreachable", path=path, kind="connect", words="no connection in time")
    if isinstance(fault, httpx.TimeoutException):
        return SourceFault("timed_out", path=path, kind="silent", after_s=patience.silent_s, words=words)
    if isinstance(fault, httpx.ConnectError):
        kind = "certificate" if "certificate" in words.lower() else "connect"
        return SourceFault("unreachable", path=path, kind=kind, words=words)
    if size or "complete message body" in words or "incomplete chunked" in words:
        return SourceFault("output_cut", path=path, words=words)
    if isinstance(fault, httpx.TransportError) and not isinstance(fault, httpx.UnsupportedProtocol):
        return SourceFault("unreachable", path=path, kind="broken_off", words=words)
    return SourceFault("bad_answer", path=path, words=words)


def _judged(path: str, status: int, kind: str, body: BinaryIO) -> Survey:
    """What the answer says of itself; raises SourceFault where that is a fault, or where it is not whole."""
    size = body.tell()
    body.seek(0)
    if status == 204 or (status == 200 and not size):
        if size:
            body.truncate()
        return EMPTY
    told, words = EMPTY, ""
    if status != 200 and "json" not in kind.lower():
        words = body.read(MOST_WORDS).decode("utf-8", "replace")
    else:
        try:
            told = survey(body)
        except SourceFault as fault:
            if status == 200:
                raise SourceFault(fault.code, path=path, **fault.detail) from None
            body.seek(0)
            words = body.read(MOST_WORDS).decode("utf-8", "replace")
    reported = fault_in(path, status, told.errors, words)
    if reported is not None:
        raise reported
    return told
