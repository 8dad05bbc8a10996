"""Prometheus over HTTP: questions out, series back, with retries, a bounded answer and secrets by reference."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from governance.schedulers.live import SourceFault

from . import parse
from .parse import Series

#: Answers of a proxy or an overloaded server that are worth another try.
_PASSING = frozenset({429, 500, 502, 503, 504})
#: What Prometheus, Thanos and VictoriaMetrics say when a question would load too much.
_TOO_MUCH = re.compile(
    r"too many (samples|points|series)|maximum resolution|exceeded maximum|query (timed out|timeout)|limit",
    re.IGNORECASE,
)
LARGEST_ANSWER = 256 * 1024 * 1024


class TooMuch(SourceFault):
    """The server refuses the question for its size; a smaller one may be answered. Its code is "timed_out"."""


@dataclass(frozen=True)
class Endpoint:
    """Where a Prometheus answers and how to sign in. Secrets are references: `env:NAME` or `file:/path`, never the secret itself."""

    url: str
    bearer: str = ""
    user: str = ""
    password: str = ""
    verify: bool = True
    ca_file: str = ""
    headers: tuple[tuple[str, str], ...] = ()  # such as X-Scope-OrgID
    timeout_s: float = 60.0
    attempts: int = 4


def secret(reference: str) -> str:
    """What a reference points at, without surrounding blanks; raises SourceFault "secret_missing"."""
    kind, _, name = reference.partition(":")
    if kind == "env" and name:
        found = os.environ.get(name, "")
    elif kind == "file" and name:
        try:
            found = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            raise SourceFault("secret_missing", reference=reference, reason=type(fault).__name__) from None
    else:
        # What is no reference may be the secret itself: it is not repeated.
        raise SourceFault("secret_missing", reason="a reference is env:NAME or file:/path")
    if not found.strip():
        raise SourceFault("secret_missing", reference=reference, reason="empty")
    return found.strip()


class Prometheus:
    """A Prometheus, or what speaks its API. Use as a context manager; every call is bounded in time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._url = endpoint.url.rstrip("/")
        headers = dict(endpoint.headers)
        if endpoint.bearer:
            headers["Authorization"] = f"Bearer {secret(endpoint.bearer)}"
        auth = httpx.BasicAuth(endpoint.user, secret(endpoint.password)) if endpoint.user else None
        self._http = httpx.Client(
            headers=headers, auth=auth, verify=_trust(endpoint), timeout=endpoint.timeout_s, follow_redirects=False
        )

    def __enter__(self) -> Prometheus:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def clock(self) -> float:
        """The server's own clock, epoch seconds."""
        return self.query("time()")[0].points[0][1]

    def query(self, promql: str, at: float | None = None) -> list[Series]:
        """An instant query; `at` None: now."""
        given = {"query": promql, **({"time": f"{at:.3f}"} if at is not None else {})}
        return parse.answer(self._post("query", given))

    def query_range(self, promql: str, since: float, until: float, step: float) -> list[Series]:
        """Points at since, since + step, … up to until. A question that is too large is asked in halves."""
        given = {"query": promql, "start": f"{since:.3f}", "end": f"{until:.3f}", "step": f"{step:.3f}"}
        try:
            return parse.answer(self._post("query_range", given))
        except TooMuch:
            steps = int((until - since) // step)
            if steps < 2:
                raise
            middle = since + steps // 2 * step
            first = self.query_range(promql, since, middle, step)
            return first + self.query_range(promql, middle + step, until, step)

    def label_values(self, label: str, matching: str, since: float, until: float) -> list[str]:
        """The values a label has on series that match, sorted."""
        given = {"match[]": matching, "start": f"{since:.3f}", "end": f"{until:.3f}"}
        return sorted(str(value) for value in self._json(f"label/{label}/values", given))

    def about(self, page: str) -> dict[str, Any]:
        """`/api/v1/status/<page>`; {} where the server has no such page."""
        try:
            found = self._json(f"status/{page}", {})
        except SourceFault:
            return {}
        return found if isinstance(found, dict) else {}

    def _json(self, path: str, given: Mapping[str, str]) -> Any:
        response = self._ask("GET", path, given)
        try:
            return response.json()["data"]
        except (ValueError, KeyError, TypeError) as fault:
            raise SourceFault("bad_answer", reason=str(fault)[:200]) from None

    def _post(self, path: str, given: Mapping[str, str]) -> bytes:
        return self._ask("POST", path, given).content

    def _ask(self, method: str, path: str, given: Mapping[str, str]) -> httpx.Response:
        retrying = Retrying(
            stop=stop_after_attempt(self._endpoint.attempts),
            wait=wait_exponential_jitter(multiplier=0.5, max=15),
            retry=retry_if_exception(_passes),
            reraise=True,
        )
        try:
            return retrying(self._once, method, path, given)
        except httpx.HTTPStatusError as fault:
            raise SourceFault("unreachable", status=fault.response.status_code) from None
        except httpx.TimeoutException:
            raise TooMuch("timed_out", seconds=self._endpoint.timeout_s) from None
        except httpx.RemoteProtocolError as fault:
            raise SourceFault("output_cut", reason=str(fault)[:200]) from None
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            raise SourceFault("unreachable", reason=f"{type(fault).__name__}: {fault}"[:300]) from None

    def _once(self, method: str, path: str, given: Mapping[str, str]) -> httpx.Response:
        body = {"params": given} if method == "GET" else {"data": given}
        with self._http.stream(method, f"{self._url}/api/v1/{path}", **body) as response:  # type: ignore[arg-type]
            held, size = [], 0
            for piece in response.iter_bytes():
                size += len(piece)
                if size > LARGEST_ANSWER:
                    raise TooMuch("timed_out", reason="the answer is too large", bytes=size)
                held.append(piece)
        whole = httpx.Response(response.status_code, content=b"".join(held), request=response.request)
        self._judge(whole)
        return whole

    def _judge(self, response: httpx.Response) -> None:
        if response.is_success:
            return
        said = response.text[:500]
        if response.status_code in (401, 403):
            raise SourceFault("refused", status=response.status_code)
        if response.status_code in (400, 413, 422, 503) and _TOO_MUCH.search(said):
            raise TooMuch("timed_out", reason=said)
        if response.status_code in _PASSING:
            response.raise_for_status()
        raise SourceFault("failed", status=response.status_code, reason=said)


def _passes(fault: BaseException) -> bool:
    """Whether another try may help. A time-out is no such thing: the same question would take as long again."""
    if isinstance(fault, httpx.HTTPStatusError):
        return fault.response.status_code in _PASSING
    return isinstance(fault, httpx.TransportError) and not isinstance(fault, httpx.ReadTimeout)


def _trust(endpoint: Endpoint) -> Any:
    if not endpoint.verify:
        return False
    if not endpoint.ca_file:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=endpoint.ca_file)
    except (OSError, ssl.SSLError) as fault:
        raise SourceFault("secret_missing", reference=endpoint.ca_file, reason=type(fault).__name__) from None
