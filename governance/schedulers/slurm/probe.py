"""The connection test of Slurm's commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from governance.schedulers.live import Finding, SourceFault

if TYPE_CHECKING:
    from governance.schedulers.slurm.commands import SlurmCommands


def probe(slurm: SlurmCommands) -> list[Finding]:
    """What is right and what is missing."""
    try:
        return [Finding("host_reached", "ok", {"clock": slurm.clock()})]
    except SourceFault as fault:
        return [Finding(fault.code, "blocking", dict(fault.detail))]
