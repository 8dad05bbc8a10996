"""The connection test of slurmrestd: what is right, what is missing, what REST cannot tell, what the first pull would bring.

Codes and their words are in `governance.schedulers.findings`. Every question is a short one: days are sampled, never
the whole history read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from governance.schedulers.live import Finding, NodeRecord, SourceFault, Window
from governance.schedulers.records import RunRecord
from governance.schedulers.slurm.json_records import text_of
from governance.schedulers.slurm.probe import DAY, MOST_SKEW_S, OLDEST_DAYS, SAMPLED_DAYS
from governance.schedulers.slurm.rest_http import claims
from governance.schedulers.slurm.rest_versions import LAST_WITHOUT_EXIT_CODES, name_of

if TYPE_CHECKING:
    from governance.schedulers.slurm.rest import SlurmRest

SOON_S = 7 * DAY  # before a token expires that somebody has to replace
_OPERATORS = frozenset({"operator", "administrator"})


def probe(slurm: SlurmRest) -> list[Finding]:
    """The findings, in the order in which they matter; a daemon that cannot be asked at all is the only one there can be."""
    found: list[Finding] = []
    try:
        found += _way(slurm)
        found.append(_version(slurm))
        # With slurmdbd's word first, a token that is not taken is told from a slurmctld that is down.
        slurm.accounting("tres")
    except SourceFault as fault:
        if fault.code != "daemon_down":
            return [*found, _of_fault(fault)]
    return found + list(_Probe(slurm).findings())


def _of_fault(fault: SourceFault) -> Finding:
    code = fault.code
    if code == "daemon_down":
        code = "accounting_down" if fault.detail.get("daemon") == "slurmdbd" else "controller_down"
    words = fault.detail.get("words") or ", ".join(f"{name} {value}" for name, value in fault.detail.items())
    return Finding(code, "blocking", {**fault.detail, "words": words})


def _way(slurm: SlurmRest) -> Iterator[Finding]:
    """The way there: encryption and the token. Raises SourceFault where the token cannot be read."""
    rest = slurm.rest
    if rest.in_clear:
        yield Finding("token_in_clear", "warning", {"url": rest.url})
    if not rest.verify and rest.url.startswith("https:"):
        yield Finding("certificate_unchecked", "warning", {"url": rest.url})
    if rest.token is None:
        return
    expires = claims(rest.token.read()).get("exp")
    if isinstance(expires, int):
        detail = {"until": datetime.fromtimestamp(min(expires, 10**11), UTC).strftime("%Y-%m-%d %H:%M UTC")}
        left = expires - time.time()
        # A file may be kept fresh by whoever writes it; a variable stays as it was when the process began.
        short = left < SOON_S and (bool(rest.token.env) or left < 0)
        yield Finding("token_expires", "warning" if short else "ok", detail)


def _version(slurm: SlurmRest) -> Finding:
    dialect = slurm.dialect
    detail = {"version": dialect.name, "served": ", ".join(map(name_of, dialect.served)) or dialect.name}
    return Finding("rest_version", "ok", detail)


class _Probe:
    """The questions put to Slurm itself; what one of them learns, the next ones use."""

    def __init__(self, slurm: SlurmRest) -> None:
        self.slurm = slurm
        self.now = int(time.time())  # until the scheduler's own clock is known
        self.login = slurm.rest.user
        self.operator = False
        self.recent: list[RunRecord] = []
        self.sampled = 1
        self.known: list[str] = []
        self.down = False  # slurmctld: each further question would wait out its time

    def findings(self) -> Iterator[Finding]:
        """All of them; a question that fails is a finding, once, and does not end the others."""
        told: set[str] = set()
        questions = (self._accounting, self._controller, self._cards, self._rights, self._jobs_seen, self._attempts)
        for question in (*questions, self._unknown, self._first_pull):
            for one in self._up(question):
                if one.severity != "blocking" or one.code not in told:
                    told.add(one.code)
                    yield one

    def _up(self, question: Callable[[], Iterator[Finding]]) -> list[Finding]:
        found: list[Finding] = []
        try:
            found.extend(question())
        except SourceFault as fault:
            found.append(_of_fault(fault))
        return found

    def _controller(self) -> Iterator[Finding]:
        try:
            answer = self.slurm.controller("ping")
        except SourceFault:
            self.down = True
            self.now = self.slurm.rest.date_at or self.now
            raise
        named = _cluster_in(answer) or self.slurm.cluster or (self.known[0] if len(self.known) == 1 else "?")
        yield Finding("controller_answers", "ok", {"cluster": named})
        before = time.time()
        told = self.slurm.told_clock()
        after = time.time()
        skew = 0 if before - 1 <= told.at <= after + 1 else round(told.at - (before + after) / 2)
        self.now = told.at
        code, severity = ("clock_skew", "warning") if abs(skew) > MOST_SKEW_S else ("clock_agrees", "ok")
        yield Finding(code, severity, {"skew_s": skew, "clock": told.at, "whose": told.whose})

    def _accounting(self) -> Iterator[Finding]:
        known = [text_of(one.get("name")) for one in _objects(self.slurm.accounting("clusters"), "clusters")]
        self.known = known
        yield Finding("accounting_answers", "ok", {})
        chosen = self.slurm.cluster
        if chosen and chosen.lower() not in {name.lower() for name in known}:
            yield Finding("unknown_cluster", "blocking", {"cluster": chosen, "known": ", ".join(known)})
        elif not chosen and len(known) > 1:
            yield Finding("several_clusters", "warning", {"known": ", ".join(known)})

    def _cards(self) -> Iterator[Finding]:
        answer = self.slurm.accounting("tres")
        entries = _objects(answer, "TRES") or _objects(answer, "tres")
        counted = {f"gres/{text_of(one.get('name')).lower()}" for one in entries if one.get("type") == "gres"}
        types: dict[str, int] = {}
        for node in self.slurm.nodes() if not self.down else ():
            for kind, many in node.gpus if isinstance(node, NodeRecord) else ():
                types[kind] = types.get(kind, 0) + many
        shown = ", ".join(f"{kind or 'gpu'} × {types[kind]}" for kind in sorted(types))
        tracked = ", ".join(sorted(counted))
        if not types and not self.down:
            yield Finding("no_gpus", "info", {})
        elif not any(name.startswith(("gres/gpu", "gres/npu")) for name in counted):
            if types:
                yield Finding("gpus_not_tracked", "warning", {"tres": tracked or "none", "types": shown})
        else:
            yield Finding("gpus_tracked", "ok", {"tres": tracked})
            loose = sorted(kind for kind in types if kind and not {f"gres/gpu:{kind}", f"gres/npu:{kind}"} & counted)
            if loose:
                yield Finding("types_not_tracked", "warning", {"types": ", ".join(loose)})

    def _rights(self) -> Iterator[Finding]:
        token = self.slurm.rest.token
        self.login = self.login or (text_of(claims(token.read()).get("sun")) if token else "")
        if not self.login:
            yield Finding("login_unknown", "info", {})
            return
        users = _objects(self.slurm.accounting(f"user/{self.login}"), "users")
        levels = users[0].get("administrator_level") if users else None
        level = text_of(levels[0] if isinstance(levels, list) and levels else levels or "None")
        self.operator = level.lower() in _OPERATORS
        detail = {"login": self.login, "level": level}
        yield Finding("rights_enough", "ok", detail) if self.operator else Finding("rights_few", "warning", detail)

    def _sample(self, since_at: int, until_at: int) -> list[RunRecord]:
        return [
            one._replace(raw="") for one in self.slurm.jobs(Window(since_at, until_at)) if isinstance(one, RunRecord)
        ]

    def _jobs_seen(self) -> Iterator[Finding]:
        """One day, and a week only where that was empty: slurmrestd holds a whole answer in memory."""
        for self.sampled in (1, SAMPLED_DAYS):
            self.recent = self._sample(self.now - self.sampled * DAY, self.now)
            if self.recent:
                break
        users = {run.user for run in self.recent} - {""}
        detail = {"login": self.login or "–", "users": len(users), "days": self.sampled, "private": "unknown"}
        if not users:
            yield Finding("no_recent_jobs", "info", detail)
        elif users - {self.login}:
            yield Finding("sees_all_jobs", "ok", detail)
        else:
            yield Finding("one_user_seen", "warning", detail)

    def _attempts(self) -> Iterator[Finding]:
        """Whether earlier attempts of requeued jobs are shown: by what is shown, not by what a version promises."""
        submits: dict[str, set[int | None]] = {}
        for run in self.recent:
            submits.setdefault(run.job_id, set()).add(run.submit_at)
        requeued = set() if self.down else self.slurm.requeued() & submits.keys()
        if any(len(of_job) > 1 for of_job in submits.values()):
            yield Finding("rest_attempts_visible", "ok", {"version": self.slurm.dialect.name})
        elif requeued:
            detail = {
                "version": self.slurm.dialect.name,
                "count": len(requeued),
                "jobs": ", ".join(sorted(requeued)[:5]),
            }
            yield Finding("attempts_hidden", "warning", detail)
        else:
            yield Finding("attempts_unseen", "info", {"version": self.slurm.dialect.name, "days": self.sampled})

    def _unknown(self) -> Iterator[Finding]:
        """What no version of the API tells."""
        yield Finding("no_events_over_rest", "info", {})
        yield Finding("no_runaway_over_rest", "info", {})
        yield Finding("enforcement_unknown", "info", {})
        if self.slurm.dialect.number <= LAST_WITHOUT_EXIT_CODES:
            yield Finding("exit_codes_lost", "info", {"version": self.slurm.dialect.name})

    def _submitted(self, age: int) -> list[int]:
        """When the attempts submitted on the day so many days ago were, as far as they had been eligible that day."""
        begin = self.now - age * DAY
        moments = (run.submit_at for run in self._sample(begin, begin + DAY))
        return [at for at in moments if at is not None and begin <= at < begin + DAY]

    def _first_pull(self) -> Iterator[Finding]:
        some, first = 0, 0
        if self.recent:
            some, first = self.sampled, min(run.submit_at or self.now for run in self.recent)
        for age in OLDEST_DAYS:
            found = self._submitted(age)
            if found:
                some, first = age, min(found)
            elif some and age > 4 * some:
                break  # a year's silence behind a season's jobs is taken for the beginning
        if not some:
            yield Finding("no_history", "info", {"days": OLDEST_DAYS[-1]})
            return
        none = next((age for age in OLDEST_DAYS if age > some), some + 1)
        while none - some > max(1, some // 10):
            middle = (some + none) // 2
            found = self._submitted(middle)
            some, none, first = (middle, none, min(found)) if found else (some, middle, first)
        rate = len({(run.job_id, run.submit_at) for run in self.recent}) / self.sampled
        since_on = datetime.fromtimestamp(first, UTC).date().isoformat()
        detail = {"since_on": since_on, "days": some, "jobs_per_day": round(rate), "jobs": round(rate * some)}
        yield Finding("first_pull", "info", detail)


def _objects(answer: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    listed = answer.get(key)
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _cluster_in(answer: Mapping[str, Any]) -> str:
    """The name newer versions give their cluster in what an answer says of itself."""
    slurm = answer.get("meta", {}).get("slurm") if isinstance(answer.get("meta"), Mapping) else None
    return text_of(slurm.get("cluster")) if isinstance(slurm, Mapping) else ""
