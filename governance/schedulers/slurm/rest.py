"""Slurm over slurmrestd: runs from slurmdbd, queue and nodes from slurmctld, in the newest version both sides know.

For sites that give no login. It costs slurmrestd memory (it holds a whole answer), so windows should be a day or less;
node events and runaway jobs cannot be asked for at all, and the connection test says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from governance.schedulers.errors import UnreadableSource
from governance.schedulers.live import Finding, NodeEvent, NodeRecord, PendingRecord, SourceFault, Window
from governance.schedulers.records import BadRecord, Outcome, RunRecord, Skipped
from governance.schedulers.slurm import json_records, rest_records
from governance.schedulers.slurm.json_records import number
from governance.schedulers.slurm.rest_http import SHORT, Rest
from governance.schedulers.slurm.rest_probe import probe
from governance.schedulers.slurm.rest_versions import LAST_WITHOUT_EXIT_CODES, Dialect, chosen
from governance.schedulers.slurm.runner import Patience

DOCUMENTS = ("/openapi/v3", "/openapi")


class Told(NamedTuple):
    """A clock's reading and whose it is."""

    at: int  # epoch seconds
    whose: str  # "slurmctld", or "slurmrestd" for the Date of its answer


class SlurmRest:
    """A `Scheduler` that asks slurmrestd.

    `version` (38 for v0.0.38) is asked for instead of the newest; `cluster` is Slurm's own name for it, needed only
    where slurmdbd serves several and slurmrestd belongs to another one.
    """

    def __init__(
        self, rest: Rest, *, cluster: str = "", version: int | None = None, patience: Patience = Patience()
    ) -> None:
        self.rest = rest
        self.cluster = cluster
        self._version = version
        self._patience = patience

    @cached_property
    def dialect(self) -> Dialect:
        """The version to speak. Raises SourceFault, "version" where none is known to both sides."""
        for path in DOCUMENTS:
            try:
                return chosen(self.rest.json(path), self._version)
            except SourceFault as fault:
                if fault.detail.get("status") not in (403, 404):
                    raise
        return chosen(None, self._version)

    def accounting(self, thing: str) -> dict[str, Any]:
        """A short answer of slurmdbd. Raises SourceFault."""
        return self.rest.json(self.dialect.path("slurmdb", thing))

    def controller(self, thing: str) -> dict[str, Any]:
        """A short answer of slurmctld. Raises SourceFault."""
        try:
            return self.rest.json(self.dialect.path("slurm", thing))
        except SourceFault as fault:
            raise self._whose_fault(fault) from None

    def _whose_fault(self, fault: SourceFault) -> SourceFault:
        """22.05 says the same of a slurmctld that is down and of a token that is not taken: slurmdbd tells them apart."""
        if not fault.detail.get("unspecific") or self.rest.token is None:
            return fault
        try:
            self.accounting("tres")
        except SourceFault as other:
            return other if other.code == "refused" else fault
        return fault

    def clock(self) -> int:
        """slurmctld's clock, epoch seconds; while it is down, slurmrestd's (or its proxy's). Raises SourceFault."""
        return self.told_clock().at

    def told_clock(self) -> Told:
        """The clock, and whose it is. Raises SourceFault."""
        try:
            statistics = self.controller("diag").get("statistics")
        except SourceFault as fault:
            if fault.code != "daemon_down" or self.rest.date_at is None:
                raise
            return Told(self.rest.date_at, "slurmrestd")
        at = number(statistics.get("req_time")) if isinstance(statistics, dict) else None
        if at is None or not 10**9 <= at < 10**11:
            raise SourceFault("bad_answer", path=self.dialect.path("slurm", "diag"), words="no req_time")
        return Told(at, "slurmctld")

    @property
    def reading(self) -> dict[str, Any]:
        """How a record of `runs` is read again."""
        return {"format": "slurmrestd"}

    def runs(self, window: Window) -> Iterator[RunRecord | BadRecord | Skipped]:
        """Every attempt that overlaps the window, and the jobs cancelled in it before they were eligible.

        slurmdbd passes those over unless it is asked for cancelled jobs by name. Raises SourceFault before the first
        record of an answer that is not whole; the second answer comes after the records of the first.
        """
        told: set[tuple[str, int | None]] = set()
        for record in self.jobs(window):
            key = _unstarted(record)
            if key is not None:
                told.add(key)
            yield record
        for record in self.jobs(window, state="CANCELLED"):
            key = _unstarted(record)
            if key is not None and key not in told:
                yield record

    def jobs(self, window: Window, **more: str) -> Iterator[RunRecord | BadRecord]:
        """The jobs of slurmdbd that overlap the window, under more conditions of the API. Raises SourceFault."""
        dialect = self.dialect
        params = {"start_time": dialect.moment(window.since_at), "end_time": dialect.moment(window.until_at)}
        params |= dict.fromkeys(dialect.flags, "true") | more
        if self.cluster:
            params["cluster"] = self.cluster
        path = dialect.path("slurmdb", "jobs")
        with self.rest.get(path, params, patience=self._patience) as got:
            if not got.survey.keys:
                return  # 204
            try:
                for record in json_records.jobs(got.body, b""):
                    yield self._without_false_code(record)
            except UnreadableSource as fault:
                code = "output_cut" if fault.code == "truncated_json" else "bad_answer"
                raise SourceFault(code, path=path, reason=fault.code, **fault.detail) from None

    def _without_false_code(self, record: RunRecord | BadRecord) -> RunRecord | BadRecord:
        """A failed run of a version that calls each code SUCCESS has an unknown one: zero is what it was not."""
        if isinstance(record, BadRecord) or self.dialect.number > LAST_WITHOUT_EXIT_CODES:
            return record
        false = record.outcome == Outcome.FAILED and record.exit_code == "0:0"
        return record._replace(exit_code="") if false else record

    def queue(self) -> Iterator[PendingRecord | BadRecord]:
        """The jobs that wait now, an array that is not yet split as one. Raises SourceFault before the first."""
        yield from self._list("jobs", rest_records.pending)

    def nodes(self) -> Iterator[NodeRecord | BadRecord]:
        """The nodes now. Raises SourceFault before the first."""
        yield from self._list("nodes", rest_records.nodes)

    def _list(self, thing: str, read: Any) -> Iterator[Any]:
        path = self.dialect.path("slurm", thing)
        try:
            with self.rest.get(path, patience=self._patience) as got:
                if got.survey.keys and thing not in got.survey.keys:
                    raise SourceFault("bad_answer", path=path, words=f"no list of {thing}")
                if got.survey.keys:
                    yield from read(got.body)
        except SourceFault as fault:
            raise self._whose_fault(fault) from None

    def requeued(self) -> set[str]:
        """Raw ids of the jobs that slurmctld knows to have been started more than once. Raises SourceFault."""
        with self.rest.get(self.dialect.path("slurm", "jobs"), patience=SHORT) as got:
            found = rest_records.objects(got.body, "jobs") if got.survey.keys else iter(())
            jobs = (job for job in found if not isinstance(job, BadRecord))
            return {str(number(job.get("job_id"))) for job in jobs if number(job.get("restart_cnt"))}

    def events(self, window: Window) -> Iterator[NodeEvent | BadRecord]:
        """None: no version of the API has them. The history of nodes is then what snapshots saw."""
        return iter(())

    def runaway(self) -> list[str]:
        """None are known: no version of the API tells them without mending them."""
        return []

    def probe(self) -> list[Finding]:
        """The connection test; it raises nothing: what cannot be asked is a finding."""
        return probe(self)


def _unstarted(record: RunRecord | BadRecord) -> tuple[str, int | None] | None:
    """What tells apart the records that both questions of `runs` may answer: cancelled without a start, or unreadable."""
    if isinstance(record, BadRecord):
        return record.raw, None
    unstarted = record.start_at is None and record.outcome == Outcome.CANCELLED
    return (record.job_id, record.submit_at) if unstarted else None
