"""Waiting jobs and nodes in slurmctld's answers over REST, of all versions.

A number may be plain, null or `{"set", "infinite", "number"}`; a state a word with flags beside it or a list of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import ijson

from governance.schedulers.errors import RecordFault
from governance.schedulers.live import NodeRecord, PendingRecord
from governance.schedulers.records import BadRecord, Outcome
from governance.schedulers.slurm import node_states
from governance.schedulers.slurm.json_records import number, text_of
from governance.schedulers.slurm.nodes import gpus_in, gpus_used_in
from governance.schedulers.slurm.queue import asked_cards, reason_word, tasks_in
from governance.schedulers.slurm.record import bad
from governance.schedulers.slurm.states import status_of_flags
from governance.schedulers.slurm.times import epoch

Json = Mapping[str, Any]
_NOTHING = frozenset({"", "n/a", "(null)", "none", "null"})


def objects(source: BinaryIO, name: str) -> Iterator[Json | BadRecord]:
    """The objects of the outermost list of that name, one at a time; the answer is known to be whole."""
    for one in ijson.items(source, f"{name}.item"):
        yield (
            one
            if isinstance(one, Mapping)
            else bad(text_of(one), "not_an_object", f"{name} with what is no JSON object")
        )


def pending(source: BinaryIO) -> Iterator[PendingRecord | BadRecord]:
    """The waiting jobs of `/slurm/.../jobs`; others are passed over, what cannot be read is a BadRecord."""
    for job in objects(source, "jobs"):
        if isinstance(job, BadRecord):
            yield job
            continue
        try:
            record = _pending(job)
        except RecordFault as fault:
            yield bad(text_of(job), fault.code, fault.reason)
            continue
        if record is not None:
            yield record


def nodes(source: BinaryIO) -> Iterator[NodeRecord | BadRecord]:
    """The nodes of `/slurm/.../nodes`; what cannot be read is a BadRecord."""
    for node in objects(source, "nodes"):
        if isinstance(node, BadRecord):
            yield node
            continue
        try:
            yield _node(node)
        except RecordFault as fault:
            yield bad(text_of(node), fault.code, fault.reason)


def _words(value: object) -> list[str]:
    return [text_of(word) for word in value] if isinstance(value, list) else [text_of(value)] if value else []


def _plain(value: object) -> str:
    text = text_of(value).strip()
    return "" if text.lower() in _NOTHING else text


def _at(value: object) -> int | None:
    return epoch(number(value) or 0)


def label_of(job: Json) -> str:
    """The id as squeue prints it: `50_3`, `50_[4-7%2]`, `12+1`, `4711`."""
    job_id, array, het = (number(job.get(key)) or 0 for key in ("job_id", "array_job_id", "het_job_id"))
    tasks, task = _plain(job.get("array_task_string")).strip("[]"), number(job.get("array_task_id"))
    if array and tasks:
        most = number(job.get("array_max_tasks")) or 0
        return f"{array}_[{tasks}{f'%{most}' if most and '%' not in tasks else ''}]"
    if array and task is not None:
        return f"{array}_{task}"
    if het:
        return f"{het}+{number(job.get('het_job_offset')) or 0}"
    return str(job_id)


def _tasks(label: str) -> int:
    """How many tasks wait. slurmrestd cuts long lists unless SLURM_BITSTR_LEN=0 is set for it: then as many as are shown."""
    shown, cut, _ = label.partition("...")
    return tasks_in(shown.rstrip(",-") + "]") if cut else tasks_in(label)


def _pending(job: Json) -> PendingRecord | None:
    states = _words(job.get("job_state"))
    if status_of_flags(states, ended=False).outcome != Outcome.PENDING:
        return None
    job_id = number(job.get("job_id"))
    if not job_id:
        raise RecordFault("bad_job_id", f"not a job id: {text_of(job.get('job_id'))[:60]!r}")
    label, nodes = label_of(job), number(job.get("node_count")) or 0
    total, per_job, per_node, per_task = (
        text_of(job.get(key)) for key in ("tres_req_str", "tres_per_job", "tres_per_node", "tres_per_task")
    )
    milli, kind = asked_cards(total, per_job, per_node, per_task, nodes, number(job.get("tasks")) or 0)
    return PendingRecord(
        str(job_id),
        label,
        _at(job.get("submit_time")),
        _at(job.get("eligible_time")),
        _plain(job.get("account")),
        text_of(job.get("user_name")),
        _plain(job.get("partition")),
        _plain(job.get("qos")),
        reason_word(text_of(job.get("state_reason")) or "None"),
        milli,
        kind,
        nodes,
        number(job.get("priority")),
        _tasks(label),
    )


def _node(node: Json) -> NodeRecord:
    name, states = text_of(node.get("name")), _words(node.get("state"))
    if not name or not states:
        raise RecordFault("not_a_node", "a node's name or state is missing")
    base, flags = node_states.from_text("+".join([*states, *_words(node.get("state_flags"))]))
    reason, tracked = _plain(node.get("reason")), text_of(node.get("tres"))
    gpus = gpus_in(_plain(node.get("gres")), tracked)
    partitions = node.get("partitions")
    return NodeRecord(
        name,
        base,
        flags,
        reason,
        _at(node.get("reason_changed_at")) if reason else None,
        text_of(node.get("reason_set_by_user")) if reason else "",
        gpus,
        gpus_used_in(_plain(node.get("gres_used")), tracked, text_of(node.get("tres_used")), gpus),
        number(node.get("cpus")) or 0,
        number(node.get("real_memory")) or 0,
        tuple(
            _words(partitions) if isinstance(partitions, list) else text_of(partitions).split(",") if partitions else ()
        ),
        _at(node.get("boot_time")),
    )
