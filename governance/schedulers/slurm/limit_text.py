"""Limits in what `sacctmgr` and `scontrol show assoc_mgr` print, and the words that tell sacctmgr to set them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from governance.schedulers.limits import ACCOUNT, QOS, USER, Change, Transaction, Values
from governance.schedulers.slurm.times import duration

#: A user's own limits without those above it (WOPLimits). QOS is last: the only list of names.
ASSOCIATION_FIELDS = (
    "ID", "Cluster", "Account", "User", "Partition", "Share", "GrpTRES", "GrpTRESMins", "MaxSubmitJobs", "DefaultQOS",
    "QOS",
)  # fmt: skip
QOS_FIELDS = (
    "ID", "Name", "Priority", "Flags", "Preempt", "GrpTRES", "GrpTRESMins", "MinTRESPerJob", "MaxWall", "PreemptExemptTime",
    "PreemptMode",
)  # fmt: skip
CARD = "gres/gpu"  # the TRES that are governed begin with it; all others are left alone
_HELD = re.compile(r"(?P<tres>[^=,\s]+)=(?P<limit>N|\d+)\((?P<used>\d+)")
_BLOCK = re.compile(
    r"^(?:ClusterName=\S* Account=(?P<account>\S*) UserName=(?P<user>[^\s(]*)\S* Partition=(?P<partition>\S*) "
    r"|QOS=(?P<qos>\S+)\(\d+\)\s*$)"
)
_ASSOCIATION_ID = re.compile(r"id_assoc=(\d+)")
_QOS_NAME = re.compile(r"name='([^']*)'")


class Kept(NamedTuple):
    """One object in the accounting's database."""

    kind: str
    name: str
    number: str
    values: Values


class Enforced(NamedTuple):
    """One object in the controller's memory."""

    values: Values
    used: dict[str, int]
    used_minutes: dict[str, int]


def tres(text: str, key: str) -> dict[str, int]:
    """The cards of a TRES string such as "cpu=4,gres/gpu:a100=16" as values of the key "GrpTRES:gres/gpu:a100"."""
    found = {}
    for part in text.split(","):
        name, _, count = part.strip().rpartition("=")
        if name.startswith(CARD) and count.isascii() and count.isdigit():
            found[f"{key}:{name.lower()}"] = int(count)
    return found


def names(text: str) -> str:
    """Names with commas, sorted and without what sacctmgr says of itself."""
    return ",".join(sorted({part.strip() for part in text.split(",") if part.strip()}))


def _counted(values: dict[str, int | str], key: str, text: str) -> None:
    if text.isascii() and text.isdigit():
        values[key] = int(text)
    elif text:
        values[key] = text


def associations(lines: Iterable[str]) -> Iterator[Kept]:
    """Accounts and users of `sacctmgr -n -P show assoc WOPLimits format=ASSOCIATION_FIELDS`; lines of partitions are passed over."""
    for line in lines:
        cells = line.split("|", len(ASSOCIATION_FIELDS) - 1)
        if len(cells) != len(ASSOCIATION_FIELDS):
            continue
        number, _, account, user, partition, share, grp, minutes, submit, default, allowed = cells
        if not account or partition:
            continue
        values: dict[str, int | str] = {**tres(grp, "GrpTRES"), **tres(minutes, "GrpTRESMins")}
        _counted(values, "Fairshare", share)
        _counted(values, "MaxSubmitJobs", submit)
        if default:
            values["DefaultQOS"] = default
        if allowed:
            values["QOS"] = names(allowed)
        yield Kept(USER if user else ACCOUNT, f"{account}/{user}" if user else account, number, values)


def qualities(lines: Iterable[str]) -> Iterator[Kept]:
    """The QOS of `sacctmgr -n -P show qos format=QOS_FIELDS`."""
    for line in lines:
        cells = line.split("|", len(QOS_FIELDS) - 1)
        if len(cells) != len(QOS_FIELDS) or not cells[1]:
            continue
        number, name, priority, flags, preempt, grp, minutes, least, wall, exempt, mode = cells
        values: dict[str, int | str] = {
            **tres(grp, "GrpTRES"),
            **tres(minutes, "GrpTRESMins"),
            **tres(least, "MinTRES"),
        }
        _counted(values, "Priority", priority)
        for key, text in (("Flags", flags), ("Preempt", preempt)):
            if text:
                values[key] = names(text)
        for key, text in (("MaxWall", wall), ("PreemptExemptTime", exempt)):
            seconds = duration(text)
            if seconds is not None:
                values[key] = seconds // 60
        if mode:
            values["PreemptMode"] = mode.lower()
        yield Kept(QOS, name, number, values)


def enforced(lines: Iterable[str]) -> dict[tuple[str, str], Enforced]:
    """What `scontrol show assoc_mgr flags=assoc,qos` tells of cards, by (kind, name); of other clusters and partitions nothing."""
    found: dict[tuple[str, str], Enforced] = {}
    one: Enforced | None = None
    for line in lines:
        block = _BLOCK.match(line)
        if block is not None:
            one = Enforced({}, {}, {})
            if block["qos"] is not None:
                found[QOS, block["qos"]] = one
            elif not block["partition"]:
                account, user = block["account"], block["user"]
                found[(USER, f"{account}/{user}") if user else (ACCOUNT, account)] = one
            continue
        key, sign, text = line.strip().partition("=")
        if one is None or not sign:
            continue
        if key in ("GrpTRES", "GrpTRESMins"):
            _hear(one, key, text)
        elif key == "MinTRESPJ":
            assert isinstance(one.values, dict)
            one.values.update(tres(text, "MinTRES"))
    return found


def _hear(one: Enforced, key: str, text: str) -> None:
    assert isinstance(one.values, dict)
    uses = one.used if key == "GrpTRES" else one.used_minutes
    for held in _HELD.finditer(text):
        if held["tres"].startswith(CARD):
            uses[held["tres"]] = int(held["used"])
            if held["limit"] != "N":
                one.values[f"{key}:{held['tres']}"] = int(held["limit"])


def settings(values: Values) -> list[str]:
    """The words after `set` of sacctmgr: counts of one key together, in a fixed order, so that equal values read equal."""
    together: dict[str, list[str]] = {}
    for key in sorted(values):
        name, sign, of = key.partition(":")
        if sign:
            together.setdefault(name, []).append(f"{of}={values[key]}")
        else:
            together[name] = [str(values[key])]
    return [f"{name}={','.join(parts)}" for name, parts in together.items()]


def changes(found: Transaction) -> Iterator[Change]:
    """The objects that a transaction of the accounting changed: QOS by name, associations by number."""
    if "QOS" in found.action:
        named = _QOS_NAME.findall(found.where) or [found.where]
        yield from (Change(found.at, found.actor, QOS, name, found.info) for name in named)
    elif "Assoc" in found.action:
        for number in _ASSOCIATION_ID.findall(found.where):
            yield Change(found.at, found.actor, ACCOUNT, number, found.info)
