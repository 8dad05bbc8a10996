"""sacct's parsable text (`sacct -P`) as run records; any field order, any delimiter."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from math import comb
from typing import BinaryIO

from governance.schedulers.errors import RecordFault, UnreadableSource
from governance.schedulers.records import BadRecord, RunRecord, Skipped
from governance.schedulers.slurm import columns, tres
from governance.schedulers.slurm.cache import Cache
from governance.schedulers.slurm.columns import Plan
from governance.schedulers.slurm.lines import Row, batches, rows, text_of
from governance.schedulers.slurm.record import Facts, asks_gpus, bad, job_id_from, judge
from governance.schedulers.slurm.states import status_of
from governance.schedulers.slurm.times import Clock, duration, minutes

STEP = Skipped("step")
MOST_READINGS = 1000  # tries at one row with stray delimiters; with more nobody can tell


def whole_number(text: str) -> int:
    """A count as printed (`12`, `2K`), 0 where there is none; raises RecordFault."""
    plain = text.strip()
    if plain.lower() in ("", "unknown", "n/a", "none", "(null)"):
        return 0
    return tres.count(plain) or 0


class Text:
    """One sacct text: finds its columns at once (UnreadableSource), then gives its records one by one."""

    def __init__(
        self,
        source: BinaryIO,
        first: bytes,
        *,
        fields: tuple[str, ...] | None,
        delimiter: str | None,
        time_zone: str,
    ) -> None:
        self._source = source
        self._first = first
        self.clock = Clock(time_zone)
        line = next((line for line in text_of(first).split("\n") if line.strip()), "").removeprefix("\ufeff")
        self._take(self._plan_for(line, fields, delimiter))

    @staticmethod
    def _plan_for(line: str, fields: tuple[str, ...] | None, delimiter: str | None) -> Plan:
        if not line and fields is None:
            raise UnreadableSource("empty")
        if fields is None:
            gap = columns.delimiter_of(line, delimiter)
            plan = plan_of_header(line, gap)
            if plan is None:
                raise UnreadableSource("no_known_columns", first_line=line[:200])
            return plan
        gap = delimiter or columns.delimiter_in(line)
        names = tuple(name.partition("%")[0].strip().lower() for name in fields)
        cells = line.split(gap)
        return Plan(names, gap, trailing=len(cells) == len(names) + 1 and cells[-1] == "")

    def __iter__(self) -> Iterator[RunRecord | BadRecord | Skipped]:
        waiting: list[str] = []
        for batch in batches(self._source, self._first):
            if isinstance(batch, BadRecord):
                yield from self._records(waiting)
                waiting = []
                yield batch
                continue
            lines = waiting + batch.lines
            if batch.may_hold_header:
                lines = yield from self._up_to_last_header(lines)
            found, waiting = rows(lines, self.plan, last=batch.half, half=batch.half)
            yield from self._read(found)
        yield from self._records(waiting)

    def _records(self, lines: list[str]) -> Iterator[RunRecord | BadRecord | Skipped]:
        """The records of lines that nothing more belongs to."""
        found, _ = rows(lines, self.plan, last=True, half=False)
        yield from self._read(found)

    def _up_to_last_header(self, lines: list[str]) -> Generator[RunRecord | BadRecord | Skipped, None, list[str]]:
        """Read the lines before each header line (files put together) and take its plan; returns the lines after."""
        begin = 0
        for at, line in enumerate(lines):
            plan = None
            if "jobid" in line.lower():
                plan = plan_of_header(line.removeprefix("\ufeff"), self.plan.delimiter)
            if plan is not None:
                yield from self._records(lines[begin:at])
                if plan.names != self.plan.names:
                    self._take(plan)
                begin = at + 1
        return lines[begin:]

    def _take(self, plan: Plan) -> None:
        self.plan = plan
        self._facts = facts_reader(plan, self.clock)

    def _read(self, found: list[Row | BadRecord]) -> Iterator[RunRecord | BadRecord | Skipped]:
        facts, wanted, step_at = self._facts, self.plan.cells, self.plan.step_at
        for row in found:
            if isinstance(row, BadRecord):
                yield row
                continue
            line, cells = row
            try:
                if len(cells) != wanted:
                    yield self._resolve(line, cells)
                elif "." in cells[step_at]:
                    yield STEP
                else:
                    yield judge(facts(line, cells))
            except RecordFault as fault:
                yield bad(line, fault.code, fault.reason)

    def _resolve(self, line: str, cells: list[str]) -> RunRecord | Skipped:
        """A row with too many cells: the one reading in which a free-text column holds the delimiters.

        Each such column is tried in turn; a shifted column does not read as a time, a state or a resource. Readings
        that differ in a text which is not kept are the same record; where the records differ, nobody can tell.
        """
        plan, excess = self.plan, len(cells) - self.plan.cells
        found: list[RunRecord | Skipped] = []
        readings = comb(excess + len(plan.free) - 1, excess) if plan.free else 0
        for shares in _shares(excess, len(plan.free)) if readings <= MOST_READINGS else ():
            tried = _joined(cells, plan, shares)
            if plan.cells > len(plan.names) and tried[-1]:
                continue
            try:
                one = STEP if "." in tried[plan.step_at] else judge(self._facts(line, tried))
            except RecordFault:
                continue
            if one not in found:
                found.append(one)
        if len(found) != 1:
            raise RecordFault("wrong_column_count", f"{plan.cells} columns expected, {len(cells)} found")
        return found[0]


def _shares(excess: int, columns: int) -> Iterator[tuple[int, ...]]:
    """All ways to share out so many delimiters among so many columns."""
    if columns <= 1:
        if columns:
            yield (excess,)
        return
    for first in range(excess, -1, -1):
        for others in _shares(excess - first, columns - 1):
            yield (first, *others)


def _joined(cells: list[str], plan: Plan, shares: tuple[int, ...]) -> list[str]:
    """The cells with each free-text column taking its share of delimiters."""
    joined: list[str] = []
    begin = 0
    extra = dict(zip(plan.free, shares, strict=True))
    for at in range(plan.cells):
        end = begin + 1 + extra.get(at, 0)
        joined.append(plan.delimiter.join(cells[begin:end]))
        begin = end
    return joined


def plan_of_header(line: str, delimiter: str) -> Plan | None:
    """The plan of a header line, None for any other line; raises UnreadableSource("missing_columns")."""
    names = columns.names_in(line, delimiter)
    if names is None:
        return None
    trailing = line.rstrip("\r\n").endswith(delimiter)
    return Plan(names, delimiter, trailing=trailing, padded="%" in line)


def facts_reader(plan: Plan, clock: Clock) -> Callable[[str, list[str]], Facts]:
    """A function from a line and its cells to its facts; it raises RecordFault.

    All places are looked up once. A column that is not there is place -1, an empty cell put behind the others, so that
    the function asks nothing about the plan and costs a few microseconds.
    """
    at = plan.at
    raw_at, label_at, cluster, state_at = at("JobIDRaw"), at("JobID"), at("Cluster"), at("State")
    submit_at, eligible_at, start_at, end_at = at("Submit"), at("Eligible"), at("Start"), at("End")
    exit_code, reason, account, user = at("ExitCode"), at("Reason"), at("Account"), at("User")
    partition, qos, name, node_list = at("Partition"), at("QOS"), at("JobName"), at("NodeList")
    node_count, cpu_count = at("AllocNodes", "NNodes"), at("AllocCPUS", "NCPUS")
    alloc_tres, req_tres, alloc_gres, req_gres = at("AllocTRES"), at("ReqTRES"), at("AllocGRES"), at("ReqGRES")
    has_gres, submit_line = plan.has("AllocGRES", "ReqGRES"), at("SubmitLine")
    elapsed, suspended, limit = at("ElapsedRaw", "Elapsed"), at("Suspended"), at("TimelimitRaw", "Timelimit")
    restarts, db_index, sluid, req_nodes = at("Restarts"), at("DBIndex"), at("SLUID"), at("ReqNodes")
    limit_is_raw = plan.has("TimelimitRaw")
    lists_nodes, allocates = plan.has("NodeList"), plan.has("AllocTRES")
    statuses, resources = Cache(status_of), Cache(tres.read_tres)
    durations, limits, counts = Cache(duration), Cache(minutes if limit_is_raw else duration), Cache(whole_number)
    instant, folded = clock.instant, clock.folded
    new = tuple.__new__

    def facts(line: str, cells: list[str]) -> Facts:
        cells.append("")
        job_id, label = cells[raw_at], cells[label_at]
        if not (job_id.isdigit() and job_id.isascii() and len(job_id) <= 20):
            job_id = job_id_from(label or job_id)
        nodes = counts[cells[node_count]]
        allocated, asked = resources[cells[alloc_tres]], resources[cells[req_tres]]
        named = not asked.names_gpus and asks_gpus(cells[submit_line])
        if has_gres:
            allocated, asked, named_too = _older_gres(
                allocated, asked, cells[alloc_gres], cells[req_gres], nodes, _few(cells[req_nodes]), allocates
            )
            named = named or named_too
        submitted = cells[submit_at]
        submit = instant(submitted)
        eligible = submit if cells[eligible_at] == submitted else instant(cells[eligible_at])
        start, end = instant(cells[start_at]), instant(cells[end_at])
        lasted = cells[elapsed]
        nodes_listed: str | None = cells[node_list]
        if not lists_nodes:
            # without a node list, an allocation that is empty says that it never started
            nodes_listed = "" if allocates and not allocated.stated and start == end else None
        return new(
            Facts,
            (
                cells[cluster],
                job_id,
                label or job_id,
                submit,
                eligible,
                start,
                end,
                statuses[cells[state_at]],
                cells[exit_code],
                cells[reason],
                cells[account],
                cells[user],
                cells[partition],
                cells[qos],
                cells[name],
                nodes,
                nodes_listed,
                counts[cells[cpu_count]],
                allocated,
                asked,
                named,
                int(lasted) if lasted.isdecimal() and len(lasted) < 10 else durations[lasted] if lasted else None,
                durations[cells[suspended]] or 0,
                limits[cells[limit]] or None,
                counts[cells[restarts]] if cells[restarts] else None,
                _index(cells[db_index]),
                cells[sluid],
                bool(folded) and not folded.isdisjoint((submitted, cells[start_at], cells[end_at])),
                line,
            ),
        )

    return facts


def _older_gres(
    allocated: tres.Tres,
    asked: tres.Tres,
    alloc_gres: str,
    req_gres: str,
    nodes: int,
    asked_nodes: int,
    allocates: bool,
) -> tuple[tres.Tres, tres.Tres, bool]:
    """Cards from AllocGRES and ReqGRES, which older Slurm printed per node: (allocated, asked, cards are named).

    They count where AllocTRES names no cards. A request stands for the allocation only in a record that has no
    AllocTRES column at all; beside one that counts no cards, it makes the count unknown.
    """
    given = tres.read_gres(alloc_gres, nodes)
    wanted = tres.read_gres(req_gres, asked_nodes or nodes)
    if not asked.names_gpus and wanted.names_gpus:
        asked = _with_cards(asked, wanted)
    if not allocated.names_gpus:
        if given.names_gpus:
            allocated = _with_cards(allocated, given)
        elif not allocates:
            held = tres.read_gres(req_gres, nodes)
            allocated = _with_cards(allocated, held)._replace(stated=True)
    return allocated, asked, wanted.names_gpus


def _index(text: str) -> int | None:
    """DBIndex, which is never twice the same and so not worth remembering."""
    return int(text) if text.isdecimal() and len(text) < 19 else None


def _few(nodes: str) -> int:
    """ReqNodes as a number where it is one (it may be a range or a list)."""
    return int(nodes) if nodes.isascii() and nodes.isdigit() and len(nodes) < 8 else 0


def _with_cards(resources: tres.Tres, cards: tres.Tres) -> tres.Tres:
    return resources._replace(
        stated=True,
        names_gpus=cards.names_gpus,
        gpu_milli=cards.gpu_milli,
        gpu_type=cards.gpu_type,
        types_contradict=cards.types_contradict,
    )
