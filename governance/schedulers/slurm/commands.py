"""Slurm over its own commands, here or by ssh: sacct, squeue, scontrol and sacctmgr, each asked in a form of its own.

Times are asked for and printed in UTC, as epochs, whatever the host's zone; what people write comes last or behind a
separator that cannot occur.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, BinaryIO, TypeVar, cast

from governance.schedulers.errors import UnreadableSource
from governance.schedulers.limits import Association, Qos, Transaction
from governance.schedulers.live import Finding, NodeEvent, NodeRecord, PendingRecord, SourceFault, Window
from governance.schedulers.records import BadRecord, Outcome, RunRecord, Skipped
from governance.schedulers.slurm import accounting, nodes, queue
from governance.schedulers.slurm.probe import probe
from governance.schedulers.slurm.runner import Answer, Patience, Runner, lines, text
from governance.schedulers.slurm.text import Text

Record = TypeVar("Record")
GAP = "\x1f"
# Asked for where `sacct --helpformat` lists them: one field it does not know fails the whole call. Free text is last.
WANTED = (
    "Cluster", "JobIDRaw", "JobID", "DBIndex", "Account", "User", "Partition", "QOS", "State", "ExitCode", "Submit",
    "Eligible", "Start", "End", "ElapsedRaw", "Suspended", "TimelimitRaw", "ReqTRES", "AllocTRES", "ReqGRES",
    "AllocGRES", "NNodes", "AllocCPUS", "Restarts", "SLUID", "NodeList", "Reason", "JobName",
)  # fmt: skip
NEEDED = frozenset({"JobID", "JobIDRaw", "State", "Submit", "Start", "End", "NodeList"})
# SLURM_BITSTR_LEN: squeue cuts a list of waiting tasks after 64 characters unless told otherwise.
ENV = {"TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}


def moment(at: int) -> str:
    """An instant as Slurm's tools read it, in UTC: they take no epochs."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _cancelled_unstarted(record: RunRecord | BadRecord | Skipped) -> tuple[str, int | None] | None:
    """What tells apart the records that both questions of `runs` may answer: cancelled without a start, or unreadable."""
    if isinstance(record, RunRecord):
        return (
            (record.job_id, record.submit_at)
            if record.start_at is None and record.outcome == Outcome.CANCELLED
            else None
        )
    return (record.raw, None) if isinstance(record, BadRecord) else None


class SlurmCommands:
    """A `Scheduler` that runs Slurm's commands where `runner` runs them.

    `cluster` is Slurm's own name for it, needed only where the host serves several (`-M`); `bin_dir` is where the
    commands are, if not on the path.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        cluster: str = "",
        bin_dir: str = "",
        patience: Patience = Patience(),
        short: Patience = Patience(60, 120),
    ) -> None:
        self.runner = runner
        self.cluster = cluster
        self._bin_dir = bin_dir
        self._patience = patience
        self.short = short

    def command(self, name: str, *arguments: str, plain: bool = False) -> list[str]:
        """The words of a Slurm command; sacctmgr has no -M and names the cluster in its question. `plain`: no cluster."""
        chosen = ["-M", self.cluster] if self.cluster and name != "sacctmgr" and not plain else []
        return [os.path.join(self._bin_dir, name) if self._bin_dir else name, *chosen, *arguments]

    def ask(self, *argv: str, stdin: bytes = b"", env: Mapping[str, str] = ENV) -> str:
        """All that a short command prints. Raises SourceFault."""
        return text(self.runner, argv, env=env, patience=self.short, stdin=stdin)

    def _lines(self, argv: list[str]) -> Iterator[str]:
        return lines(self.runner, argv, env=ENV, patience=self._patience)

    def clock(self) -> int:
        """The clock of the host that is asked, epoch seconds. Raises SourceFault."""
        said = self.ask("date", "+%s").strip()
        if not (said.isascii() and said.isdigit() and 9 < len(said) < 12):
            raise SourceFault("bad_answer", command="date", words=said[:200])
        return int(said)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of sacct to ask for: those wanted that this version knows. Raises SourceFault("version")."""
        known = {word.lower() for word in self.ask(*self.command("sacct", "--helpformat", plain=True)).split()}
        missing = sorted(name for name in NEEDED if name.lower() not in known)
        if missing:
            raise SourceFault("version", command="sacct", missing=missing)
        return tuple(name for name in WANTED if name.lower() in known)

    @property
    def reading(self) -> dict[str, Any]:
        """How a row of `runs` is read again."""
        return {"format": "sacct", "fields": list(self.fields), "delimiter": GAP, "time_zone": "UTC"}

    def runs(self, window: Window) -> Iterator[RunRecord | BadRecord | Skipped]:
        """Every attempt that overlaps the window, and the jobs cancelled in it before they were eligible.

        sacct passes those over unless it is asked for cancelled jobs by name. Rows come as they are printed; an answer
        that is not whole raises SourceFault after its last row, so keep none of it before the end.
        """
        told = set()
        # Asked at the same time: what costs is how long the accounting takes over each question.
        with self._ask(window, "-s", "CA") as cancelled:
            for record in self._confirmed(partial(self._sacct, window)):
                key = _cancelled_unstarted(record)
                if key is not None:
                    told.add(key)
                yield record
            asked = [cancelled]
            for record in self._confirmed(
                lambda: self._records(asked.pop()) if asked else self._sacct(window, "-s", "CA")
            ):
                key = _cancelled_unstarted(record)
                if key is not None and key not in told:
                    yield record

    def _confirmed(self, ask: Callable[[], Iterator[Record]]) -> Iterator[Record]:
        """An answer of the accounting, asked for once more where it is empty.

        When its database dies under a question, slurmdbd 22.05 answers with no rows and no error. The second question
        then fails, or finds the rows.
        """
        empty = True
        for record in ask():
            empty = False
            yield record
        if empty:
            yield from ask()

    def _ask(self, window: Window, *more: str) -> Answer:
        argv = self.command(
            "sacct", "-a", "-X", "-D", "-P", "--noconvert", f"--delimiter={GAP}",
            "-S", moment(window.since_at), "-E", moment(window.until_at), *more, "-o", ",".join(self.fields),
        )  # fmt: skip
        return self.runner.open(argv, env=ENV, patience=self._patience)

    def _sacct(self, window: Window, *more: str) -> Iterator[RunRecord | BadRecord | Skipped]:
        with self._ask(window, *more) as answer:
            yield from self._records(answer)

    def _records(self, answer: Answer) -> Iterator[RunRecord | BadRecord | Skipped]:
        first = answer.read()
        while first and b"\n" not in first:
            block = answer.read()
            if not block:
                break
            first += block
        try:
            rows = Text(cast(BinaryIO, answer), first, fields=None, delimiter=GAP, time_zone="UTC")
            if rows.plan.names != tuple(name.lower() for name in self.fields):
                raise SourceFault("bad_answer", command="sacct", columns=rows.plan.names)
            yield from rows
        except UnreadableSource as fault:
            raise SourceFault("bad_answer", command="sacct", reason=fault.code, **fault.detail) from None

    def column(self, field: str, window: Window) -> Iterator[str]:
        """One field of sacct, not a free text, of every attempt that overlaps the window. Raises SourceFault."""
        span = ("-S", moment(window.since_at), "-E", moment(window.until_at))
        yield from self._lines(self.command("sacct", "-a", "-X", "-D", "-n", "-P", *span, "-o", field))

    def queue(self) -> Iterator[PendingRecord | BadRecord]:
        """The jobs that wait now, an array that is not yet split as one. Raises SourceFault, at the end if cut off."""
        yield from queue.pending(self._lines(self.command("squeue", "-a", "-h", "-t", "PENDING", "-O", queue.FORMAT)))

    def nodes(self) -> Iterator[NodeRecord | BadRecord]:
        """The nodes now, those of hidden partitions too. Raises SourceFault, at the end if cut off."""
        yield from nodes.nodes(self._lines(self.command("scontrol", "-a", "-d", "-o", "show", "node")))

    def _sacctmgr(self, thing: str, fields: tuple[str, ...], *conditions: str) -> Iterator[str]:
        argv = self.command("sacctmgr", "-n", "-P", "show", thing, *conditions, f"format={','.join(fields)}")
        return self._lines(argv)

    def _never_empty(self, thing: str, fields: tuple[str, ...], *conditions: str) -> Iterator[str]:
        """As `_sacctmgr`, of things that every accounting has: none at all is no answer. Raises SourceFault."""
        empty = True
        for line in self._sacctmgr(thing, fields, *conditions):
            empty = False
            yield line
        if empty:
            raise SourceFault("bad_answer", command="sacctmgr", words=f"there is no {thing}")

    def _where(self) -> list[str]:
        return [f"cluster={self.cluster}"] if self.cluster else []

    def _within(self, window: Window) -> list[str]:
        return [f"start={moment(window.since_at)}", f"end={moment(window.until_at)}"]

    def events(self, window: Window) -> Iterator[NodeEvent | BadRecord]:
        """Node events that overlap the window. Raises SourceFault."""
        ask = partial(self._sacctmgr, "event", accounting.EVENT_FIELDS, *self._where(), *self._within(window))
        yield from accounting.events(self._confirmed(ask))

    def associations(self) -> Iterator[Association | BadRecord]:
        """The tree of accounts and users with their limits, as the database has it. Raises SourceFault."""
        yield from accounting.associations(self._never_empty("assoc", accounting.ASSOCIATION_FIELDS, *self._where()))

    def qos(self) -> Iterator[Qos | BadRecord]:
        """The qualities of service; all clusters of a database share them. Raises SourceFault."""
        yield from accounting.qos(self._never_empty("qos", accounting.QOS_FIELDS))

    def transactions(self, window: Window) -> Iterator[Transaction | BadRecord]:
        """Who changed what in the accounting within the window. Raises SourceFault."""
        ask = partial(self._sacctmgr, "transactions", accounting.TRANSACTION_FIELDS, *self._within(window))
        yield from accounting.transactions(self._confirmed(ask))

    def runaway(self) -> list[str]:
        """Raw ids of jobs the accounting holds for running and the controller does not know; nothing is mended.

        sacctmgr asks whether to mend them, and is answered no. Raises SourceFault.
        """
        return accounting.runaway(
            self.ask(*self.command("sacctmgr", "-n", "-P", "show", "runaway", *self._where()), stdin=b"N\n")
        )

    def probe(self) -> list[Finding]:
        """The connection test; it raises nothing: what cannot be asked is a finding."""
        return probe(self)
