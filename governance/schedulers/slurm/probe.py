"""The connection test of Slurm's commands: what is right, what is missing, and what the first pull would bring.

Codes and their words are in `governance.schedulers.findings`. Every question is a short one: days are sampled, never
the whole history read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from governance.schedulers.live import Finding, NodeRecord, SourceFault, Window

if TYPE_CHECKING:
    from governance.schedulers.slurm.commands import SlurmCommands

MOST_SKEW_S = 30
DAY = 86_400
SAMPLED_DAYS = 7
OLDEST_DAYS = (14, 30, 60, 90, 180, 365, 730, 1_460, 2_920, 5_840)  # how far back is looked for the first jobs
COMMANDS = ("sacct", "squeue", "scontrol", "sacctmgr")
_OPERATORS = frozenset({"operator", "administrator"})
_WITHOUT_DETAIL = frozenset({"none", "n/a", "(null)", ""})
Config = dict[str, str]


def probe(slurm: SlurmCommands) -> list[Finding]:
    """The findings, in the order in which they matter; it raises nothing: what cannot be asked is a finding.

    A host that cannot be reached, or one without Slurm's commands, is the only finding that there can be.
    """
    try:
        found = list(_host(slurm))
    except SourceFault as fault:
        return [_of_fault(fault)]
    if any(one.severity == "blocking" for one in found):
        return found
    return found + list(_Probe(slurm).findings())


def _of_fault(fault: SourceFault, severity: str = "blocking") -> Finding:
    code = fault.code
    if code == "daemon_down":
        code = "accounting_down" if fault.detail.get("daemon") == "slurmdbd" else "controller_down"
    words = fault.detail.get("words") or ", ".join(f"{name} {value}" for name, value in fault.detail.items())
    return Finding(code, severity, {**fault.detail, "words": words})


def _host(slurm: SlurmCommands) -> Iterator[Finding]:
    """The clock, the zone and the commands of the host. Raises SourceFault."""
    before = time.time()
    clock = slurm.clock()
    after = time.time()
    # It was read between our two readings and cut to a second: what lies between is no skew.
    skew = 0 if before - 1 <= clock <= after + 1 else round(clock + 0.5 - (before + after) / 2)
    if abs(skew) > MOST_SKEW_S:
        yield Finding("clock_skew", "warning", {"skew_s": skew, "clock": clock})
    else:
        yield Finding("clock_agrees", "ok", {"skew_s": skew, "clock": clock})
    yield Finding("time_zone", "info", {"offset": slurm.ask("date", "+%z", env={}).strip()[:10]})
    missing, version = [], ""
    for name in COMMANDS:
        try:
            said = slurm.ask(*slurm.command(name, "-V", plain=True)).strip()
            version = version or said[:80]
        except SourceFault as fault:
            if fault.code != "command_missing":
                raise
            missing.append(name)
    if missing:
        yield Finding("commands_missing", "blocking", {"commands": ", ".join(missing)})
    else:
        yield Finding("commands_present", "ok", {"version": version})


def settings(printed: str) -> Config:
    """`Name = value` lines, names lower-cased; the first of a name counts."""
    found: Config = {}
    for line in printed.splitlines():
        name, sign, value = line.partition("=")
        if sign:
            found.setdefault(name.strip().lower(), value.strip())
    return found


def names(value: str) -> set[str]:
    return {part.strip().lower() for part in value.split(",") if part.strip().lower() not in _WITHOUT_DETAIL}


class _Probe:
    """The questions put to Slurm itself; what one of them learns, the next ones use."""

    def __init__(self, slurm: SlurmCommands) -> None:
        self.slurm = slurm
        self.now = slurm.clock()
        self.login = ""
        self.operator = False
        self.controller: Config = {}
        self.database: Config = {}

    def findings(self) -> Iterator[Finding]:
        """All of them; a question that fails is a finding and does not end the others."""
        controller, accounting = self._up(self._controller), self._up(self._accounting)
        twice = {one.code for one in controller} & {one.code for one in accounting}
        yield from (
            one for one in controller if one.code not in twice
        )  # the accounting can say which clusters there are
        yield from accounting
        if self.controller:
            yield from self._up(self._cards)
            yield from self._enforcement()
        if self.database:
            for question in (self._rights, self._jobs_seen, self._retention, self._runaway, self._first_pull):
                yield from self._up(question)

    def _up(self, question: Callable[[], Iterator[Finding]]) -> list[Finding]:
        found: list[Finding] = []
        try:
            found.extend(question())
        except SourceFault as fault:
            found.append(_of_fault(fault))
        return found

    def _controller(self) -> Iterator[Finding]:
        self.controller = settings(self.slurm.ask(*self.slurm.command("scontrol", "show", "config")))
        yield Finding("controller_answers", "ok", {"cluster": self.controller.get("clustername", "")})

    def _accounting(self) -> Iterator[Finding]:
        kind = self.controller.get("accountingstoragetype", "")
        if self.controller and "slurmdbd" not in kind:
            yield Finding("accounting_off", "blocking", {"kind": kind})
            return
        known = self.slurm.ask(*self.slurm.command("sacctmgr", "-n", "-P", "show", "cluster", "format=Cluster")).split()
        yield Finding("accounting_answers", "ok", {})
        chosen = self.slurm.cluster
        if chosen and chosen.lower() not in {name.lower() for name in known}:
            yield Finding("unknown_cluster", "blocking", {"cluster": chosen, "known": ", ".join(known)})
            return
        if not chosen and len(known) > 1:
            yield Finding("several_clusters", "warning", {"known": ", ".join(known)})
        self.database = settings(self.slurm.ask(*self.slurm.command("sacctmgr", "show", "config")))
        self.login = self.slurm.ask("id", "-un").strip()

    def _cards(self) -> Iterator[Finding]:
        tracked = self.controller.get("accountingstoragetres", "")
        counted = names(tracked)
        types: dict[str, int] = {}
        for node in self.slurm.nodes():
            for kind, number in node.gpus if isinstance(node, NodeRecord) else ():
                types[kind] = types.get(kind, 0) + number
        shown = {"tres": tracked, "types": ", ".join(f"{kind or 'gpu'} × {types[kind]}" for kind in sorted(types))}
        if not types:
            yield Finding("no_gpus", "info", {})
        elif not any(name.startswith(("gres/gpu", "gres/npu")) for name in counted):
            yield Finding("gpus_not_tracked", "warning", shown)
        else:
            cards = sorted(name for name in counted if name.startswith("gres/"))
            yield Finding("gpus_tracked", "ok", {"tres": ", ".join(cards)})
            loose = sorted(kind for kind in types if kind and not {f"gres/gpu:{kind}", f"gres/npu:{kind}"} & counted)
            if loose:
                yield Finding("types_not_tracked", "warning", {"types": ", ".join(loose)})

    def _enforcement(self) -> Iterator[Finding]:
        enforce = self.controller.get("accountingstorageenforce", "")
        on = names(enforce)
        detail = {"enforce": enforce or "none"}
        if not on & {"limits", "safe", "all"}:
            yield Finding("limits_not_enforced", "warning", detail)
        elif not on & {"safe", "all"}:
            yield Finding("limits_not_safe", "warning", detail)
        else:
            yield Finding("limits_enforced", "ok", detail)
        gather = self.controller.get("jobacctgathertype", "")
        measured = gather.lower() not in _WITHOUT_DETAIL | {"jobacct_gather/none"}
        yield Finding(
            "usage_gathered" if measured else "no_usage_gathered",
            "ok" if measured else "info",
            {"kind": gather or "none"},
        )
        yield Finding("attempts_visible", "ok", {"requeue": self.controller.get("jobrequeue", "")})

    def _rights(self) -> Iterator[Finding]:
        question = ("-n", "-P", "show", "user", self.login, "format=User,AdminLevel")
        said = self.slurm.ask(*self.slurm.command("sacctmgr", *question)).strip().splitlines()
        level = said[0].partition("|")[2].strip() if said else ""
        self.operator = level.lower() in _OPERATORS or self.login == "root"
        detail = {"login": self.login, "level": level or ("root" if self.operator else "None")}
        yield Finding("rights_enough", "ok", detail) if self.operator else Finding("rights_few", "warning", detail)
        most = self.database.get("maxquerytimerange", "")
        if not self.operator and most.upper() not in ("", "UNLIMITED", "NONE", "0"):
            yield Finding("query_range_limited", "warning", {"range": most, "login": self.login})

    def _jobs_seen(self) -> Iterator[Finding]:
        users = set(self.slurm.column("User", Window(self.now - SAMPLED_DAYS * DAY, self.now))) - {""}
        private = ",".join(
            sorted(names(self.controller.get("privatedata", "")) | names(self.database.get("privatedata", "")))
        )
        detail = {"login": self.login, "users": len(users), "days": SAMPLED_DAYS, "private": private or "none"}
        others = users - {self.login}
        if others:
            yield Finding("sees_all_jobs", "ok", detail)
        elif not self.operator and ("jobs" in private.split(",") or "all" in private.split(",")):
            yield Finding("sees_only_own_jobs", "blocking", detail)
        elif users:
            yield Finding("one_user_seen", "warning", detail)
        else:
            yield Finding("no_recent_jobs", "info", detail)

    def _retention(self) -> Iterator[Finding]:
        jobs = self.database.get("purgejobafter", "")
        events = self.database.get("purgeeventafter", "")
        kept = {"", "none"}
        if jobs.lower() in kept and events.lower() in kept:
            yield Finding("records_kept", "ok", {})
        else:
            yield Finding("records_purged", "info", {"jobs": jobs or "NONE", "events": events or "NONE"})

    def _runaway(self) -> Iterator[Finding]:
        try:
            ids = self.slurm.runaway()
        except SourceFault as fault:
            if fault.code != "not_permitted":
                raise
            yield Finding("runaway_unknown", "info", {"words": fault.detail.get("words", ""), "login": self.login})
            return
        if ids:
            yield Finding("runaway_jobs", "warning", {"count": len(ids), "jobs": ", ".join(ids[:20])})
        else:
            yield Finding("no_runaway_jobs", "ok", {})

    def _submitted(self, age: int) -> list[int]:
        """When the attempts submitted on the day so many days ago were, as far as they had started or ended that day."""
        begin = self.now - age * DAY
        moments = (int(at) for at in self.slurm.column("Submit", Window(begin, begin + DAY)) if at.isdigit())
        return [at for at in moments if begin <= at < begin + DAY]

    def _first_pull(self) -> Iterator[Finding]:
        recent = [self._submitted(age) for age in range(1, SAMPLED_DAYS + 1)]
        oldest = max((age for age, found in enumerate(recent, start=1) if found), default=0)
        empty = 0
        for age in OLDEST_DAYS:
            if self._submitted(age):
                oldest = age
            else:
                empty = age
                if oldest and age > 4 * oldest:
                    break  # a year's silence behind a season's jobs is taken for the beginning
        if not oldest:
            yield Finding("no_history", "info", {"days": OLDEST_DAYS[-1]})
            return
        age, since_at = self._first_day(oldest, empty if empty > oldest else OLDEST_DAYS[-1])
        rate = sum(map(len, recent)) / SAMPLED_DAYS
        since_on: date = datetime.fromtimestamp(since_at, UTC).date()
        detail = {"since_on": since_on.isoformat(), "days": age, "jobs_per_day": round(rate), "jobs": round(rate * age)}
        yield Finding("first_pull", "info", detail)

    def _first_day(self, some: int, none: int) -> tuple[int, int]:
        """(age in days, first submit) of the oldest day with jobs, between one with some and an older one without."""
        found = self._submitted(some)
        while none - some > 1:
            middle = (some + none) // 2
            older = self._submitted(middle)
            if older:
                some, found = middle, older
            else:
                none = middle
        return some, min(found, default=self.now - some * DAY)
