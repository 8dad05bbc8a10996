"""Whether limits set in a Slurm would hold, asked before a cluster is opted in. Codes are worded in `limit_findings`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from governance.schedulers.live import Finding, NodeRecord, SourceFault
from governance.schedulers.slurm.probe import Config, names, settings

if TYPE_CHECKING:
    from governance.schedulers.slurm.commands import SlurmCommands

_NEVER = frozenset({"", "none", "0", "00:00:00"})


def preflight(slurm: SlurmCommands) -> list[Finding]:
    """The findings, those that block first; what cannot be asked blocks."""
    found: list[Finding] = []
    config: Config = {}
    try:
        config = settings(slurm.ask(*slurm.command("scontrol", "show", "config")))
    except SourceFault as fault:
        return [_of(fault)]
    questions: tuple[Callable[[], Iterator[Finding]], ...] = (
        lambda: _enforcement(config),
        lambda: _rights(slurm),
        lambda: _cards(slurm, config),
        lambda: _budgets(config),
        lambda: _controllers(slurm, config),
    )
    for question in questions:
        try:
            found += question()
        except SourceFault as fault:
            found.append(_of(fault))
    order = ("blocking", "warning", "info", "ok")
    return sorted(found, key=lambda one: order.index(one.severity))


def _of(fault: SourceFault) -> Finding:
    code = fault.code
    if code == "daemon_down":
        code = "accounting_down" if fault.detail.get("daemon") == "slurmdbd" else "controller_down"
    words = fault.detail.get("words") or ", ".join(f"{name} {value}" for name, value in fault.detail.items())
    return Finding(code, "blocking", {"words": str(words)[:500]})


def _enforcement(config: Config) -> Iterator[Finding]:
    if "slurmdbd" not in config.get("accountingstoragetype", ""):
        yield Finding("accounting_off", "blocking", {"kind": config.get("accountingstoragetype", "") or "none"})
        return
    on = names(config.get("accountingstorageenforce", ""))
    detail = {"enforce": config.get("accountingstorageenforce", "") or "none"}
    everything = "all" in on
    if not everything and not on & {"limits", "safe"}:
        yield Finding("limits_not_enforced", "blocking", detail)
        return
    if not everything and "safe" not in on:
        yield Finding("limits_not_safe", "blocking", detail)
    if not everything and "qos" not in on:
        yield Finding("qos_not_enforced", "blocking", detail)
    if everything or {"safe", "qos"} <= on:
        yield Finding("limits_enforced", "ok", detail)


def _rights(slurm: SlurmCommands) -> Iterator[Finding]:
    login = slurm.ask("id", "-un").strip()
    said = slurm.ask(
        *slurm.command("sacctmgr", "-n", "-P", "show", "user", login, "format=User,AdminLevel")
    ).splitlines()
    level = said[0].partition("|")[2].strip() if said else ""
    detail = {"login": login, "level": level or "None"}
    if level.lower().startswith("admin") or login == "root":
        yield Finding("may_set_limits", "ok", {**detail, "level": level or "root"})
    else:  # an Operator may change associations, not QOS
        yield Finding("may_not_set_limits", "blocking", detail)


def _cards(slurm: SlurmCommands, config: Config) -> Iterator[Finding]:
    tracked = config.get("accountingstoragetres", "")
    counted = names(tracked)
    types = {
        kind for node in slurm.nodes() if isinstance(node, NodeRecord) for kind, count in node.gpus if kind and count
    }
    if "gres/gpu" not in counted:
        yield Finding("cards_not_limitable", "blocking", {"tres": tracked or "none"})
        return
    loose = sorted(kind for kind in types if f"gres/gpu:{kind}" not in counted)
    if loose:
        # With one type alone the untyped count is the type's.
        yield Finding("types_not_limitable", "blocking" if len(types) > 1 else "warning", {"types": ", ".join(loose)})
    else:
        yield Finding(
            "cards_limitable", "ok", {"tres": ", ".join(sorted(n for n in counted if n.startswith("gres/gpu")))}
        )


def _budgets(config: Config) -> Iterator[Finding]:
    if config.get("prioritytype", "").rpartition("/")[2] != "multifactor":
        yield Finding("budgets_not_counted", "warning", {"kind": config.get("prioritytype", "") or "none"})
        return
    half_life = config.get("prioritydecayhalflife", "")
    reset = config.get("priorityusageresetperiod", "")
    if half_life.lower() in _NEVER and reset.lower() in _NEVER:
        yield Finding("usage_stays", "ok", {})
    else:
        yield Finding("usage_decays", "info", {"half_life": half_life or "none", "reset": reset or "none"})


def _controllers(slurm: SlurmCommands, config: Config) -> Iterator[Finding]:
    """QOS are one for all clusters of an accounting database."""
    known = slurm.ask(*slurm.command("sacctmgr", "-n", "-P", "show", "cluster", "format=Cluster")).split()
    name = slurm.cluster or config.get("clustername", "")
    if name.lower() not in {one.lower() for one in known}:
        yield Finding("unknown_cluster", "blocking", {"cluster": name, "known": ", ".join(known)})
    elif len(known) > 1:
        yield Finding("qos_are_shared", "info", {"known": ", ".join(known)})
