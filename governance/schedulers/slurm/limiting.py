"""Limits in Slurm, by sacctmgr alone: never by REST, never deleting an association or a QOS, never touching slurm.conf.

Every command names its cluster. Exit status 0 proves nothing ("Nothing modified"), so that whoever applies reads back,
from the database (`sacctmgr show`) and from slurmctld's own memory (`scontrol show assoc_mgr`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

from governance.schedulers.limits import (
    ACCOUNT,
    QOS,
    USER,
    Change,
    Limit,
    ObservedLimit,
    Receipt,
    Running,
    Transaction,
    Values,
)
from governance.schedulers.live import Finding, SourceFault, Window
from governance.schedulers.slurm import limit_probe, limit_text
from governance.schedulers.slurm.commands import ENV, SlurmCommands
from governance.schedulers.slurm.probe import settings
from governance.schedulers.slurm.times import Clock

AT_ONCE = 200  # names in one command
SIDE_BY_SIDE = 8  # what costs is how long slurmdbd takes over each command, not the host
MOST_ANSWER = 4_000  # characters kept of what a command said
_DISPLACES = "Preempt"
_NOTHING = ("Nothing modified", "Nothing new added")


def _without(values: Values) -> Values:
    return {key: value for key, value in values.items() if key != _DISPLACES}


class SlurmLimits:
    """A LimitPort over a client of Slurm's commands."""

    def __init__(self, slurm: SlurmCommands) -> None:
        self.slurm = slurm

    @cached_property
    def cluster(self) -> str:
        """Slurm's own name of the cluster, which every command names. Raises SourceFault."""
        if self.slurm.cluster:
            return self.slurm.cluster
        printed = self.slurm.ask(*self.slurm.command("scontrol", "show", "config"))
        name = settings(printed).get("clustername", "")
        if not name:
            raise SourceFault("bad_answer", command="scontrol", words="no ClusterName")
        return name

    def observed(self) -> Iterator[ObservedLimit]:
        """Accounts, their users and the QOS. Raises SourceFault before the first where either side does not answer."""
        told = ("-n", "-P", "show")
        fields = f"format={','.join(limit_text.ASSOCIATION_FIELDS)}"
        printed = self.slurm.ask(
            *self.slurm.command("sacctmgr", *told, "assoc", f"cluster={self.cluster}", "WOPLimits", fields)
        )
        kept = list(limit_text.associations(printed.splitlines()))
        printed = self.slurm.ask(
            *self.slurm.command("sacctmgr", *told, "qos", f"format={','.join(limit_text.QOS_FIELDS)}")
        )
        kept += limit_text.qualities(printed.splitlines())
        if not kept:
            raise SourceFault("bad_answer", command="sacctmgr", words="there is no assoc")
        printed = self.slurm.ask(*self.slurm.command("scontrol", "show", "assoc_mgr", "flags=assoc,qos"))
        enforced = limit_text.enforced(printed.splitlines())
        if not enforced:
            raise SourceFault("bad_answer", command="scontrol", words="there is no assoc_mgr")
        for one in kept:
            held = enforced.get((one.kind, one.name))
            empty = limit_text.Enforced({}, {}, {})
            values, used, minutes = held or empty
            yield ObservedLimit(*one, values, held is not None, used, minutes)

    def apply(self, limit: Limit, standing: ObservedLimit | None) -> Receipt:
        """One object; where nothing differs the command is run all the same. Raises SourceFault where the host cannot be reached."""
        changed = dict(limit.values) if standing is None else standing.differs(limit.values) or dict(limit.values)
        return self._tell(limit.kind, (limit.name,), changed, is_new=standing is None)

    def apply_all(self, limits: Sequence[tuple[Limit, ObservedLimit | None]]) -> Iterator[Receipt]:
        """Many objects: QOS first, then whom they displace, then accounts, which name them; equal changes together."""
        changed = [
            (
                limit.kind,
                limit.name,
                limit.values if standing is None else standing.differs(limit.values),
                standing is None,
            )
            for limit, standing in limits
        ]
        steps = (
            [(kind, name, _without(values), new) for kind, name, values, new in changed if kind == QOS],
            # A QOS may displace one that is made beside it.
            [
                (kind, name, {_DISPLACES: values[_DISPLACES]}, False)
                for kind, name, values, _ in changed
                if kind == QOS and _DISPLACES in values
            ],
            [one for one in changed if one[0] == ACCOUNT],
            [one for one in changed if one[0] == USER],
        )
        for step in steps:
            yield from self._side_by_side(step)

    def _side_by_side(self, step: Sequence[tuple[str, str, Values, bool]]) -> Iterator[Receipt]:
        groups: dict[tuple[str, str, bool, tuple[str, ...]], tuple[list[str], Values]] = {}
        for kind, name, values, is_new in step:
            if values or is_new:
                account = name.partition("/")[0] if kind == USER else ""
                group = (kind, account, is_new, tuple(limit_text.settings(values)))
                groups.setdefault(group, ([], values))[0].append(name)
        orders = [
            (group[0], tuple(names[at : at + AT_ONCE]), values, group[2])
            for group, (names, values) in groups.items()
            for at in range(0, len(names), AT_ONCE)
        ]
        with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="sacctmgr") as pool:
            yield from pool.map(lambda order: self._tell(order[0], order[1], order[2], is_new=order[3]), orders)

    def _tell(self, kind: str, members: tuple[str, ...], values: Values, *, is_new: bool) -> Receipt:
        argv = self.slurm.command("sacctmgr", "-i", "-Q", *self._words(kind, members, values, is_new))
        limits = tuple((kind, name) for name in members)
        at = self.slurm.clock()
        pieces: list[bytes] = []
        fault: SourceFault | None = None
        try:
            with self.slurm.runner.open(argv, env=ENV, patience=self.slurm.short) as answer:
                while data := answer.read():
                    pieces.append(data)
        except SourceFault as raised:
            if raised.code in ("unreachable", "host_key", "refused", "secret_missing", "command_missing"):
                raise
            fault = raised
        said = b"".join(pieces).decode("utf-8", "replace").replace("\0", "\ufffd").strip()
        words = str(fault.detail.get("words", "")) if fault else ""
        status = (fault.detail.get("status") if fault else 0) if not fault or "status" in fault.detail else None
        code = fault.code if fault else ""
        if any(word in said for word in _NOTHING):
            code = "nothing_modified"
        return Receipt(
            at,
            shlex.join(argv),
            status if isinstance(status, int) else None,
            "\n".join(part for part in (said, words) if part)[:MOST_ANSWER],
            limits,
            code if code != "output_cut" or status is None else "failed",
        )

    def _words(self, kind: str, members: tuple[str, ...], values: Values, is_new: bool) -> list[str]:
        named = ",".join(member.rpartition("/")[2] for member in members)
        told = limit_text.settings(values)
        if kind == QOS:
            where = ["add", "qos", named] if is_new else ["modify", "qos", "where", f"name={named}"]
        elif kind == USER:
            account = members[0].partition("/")[0]
            if is_new:
                return ["add", "user", named, f"account={account}", f"cluster={self.cluster}", *told]
            where = ["modify", "user", "where", f"name={named}", f"account={account}", f"cluster={self.cluster}"]
        else:
            where = ["modify", "account", "where", f"name={named}", f"cluster={self.cluster}"]
        return [*where, "set", *told]

    def running(self) -> Iterator[Running]:
        """The jobs that run, suspended ones among them: they keep their cards. Raises SourceFault."""
        printed = self.slurm.ask(
            *self.slurm.command(
                "squeue", "-a", "-h", "-t", "RUNNING,SUSPENDED,COMPLETING,STOPPED",
                "-O", "JobID:20,Account:128,UserName:128,QOS:128,tres-alloc:512,EndTime:32",
            )
        )  # fmt: skip
        clock = Clock("UTC")
        for line in printed.splitlines():
            cells = line.split()
            if len(cells) != 6:
                continue
            job, account, user, qos, allocated, end = cells
            held = {key.partition(":")[2]: count for key, count in limit_text.tres(allocated, "held").items()}
            if held:
                held.setdefault(limit_text.CARD, sum(held.values()))
                yield Running(job, account, user, qos, held, clock.instant(end))

    def gpu_types(self) -> list[str]:
        """The typed cards of AccountingStorageTRES. Raises SourceFault."""
        printed = self.slurm.ask(*self.slurm.command("sacctmgr", "-n", "-P", "show", "tres", "format=Type,Name"))
        found = (line.split("|") for line in printed.splitlines() if line.startswith("gres|gpu:"))
        return sorted({cells[1].partition(":")[2].lower() for cells in found if len(cells) == 2})

    def changes(self, window: Window) -> Iterator[Change]:
        """Who changed associations and QOS, the oldest first. Raises SourceFault."""
        for found in self.slurm.transactions(window):
            if isinstance(found, Transaction):
                yield from limit_text.changes(found)

    def preflight(self) -> list[Finding]:
        """Whether limits would hold here; see `limit_probe`."""
        return limit_probe.preflight(self.slurm)
