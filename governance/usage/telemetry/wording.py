"""Words for what a telemetry source cannot be asked for; the client only gives codes."""

from __future__ import annotations

from governance.errors import N_, NotTheMoment
from governance.schedulers.live import SourceFault

FAULTS: dict[str, str] = {
    "unreachable": N_(
        "The telemetry source of “%(cluster)s” cannot be reached (%(detail)s). Check address, certificate and network;"
        " the next pull goes on."
    ),
    "refused": N_(
        "The telemetry source of “%(cluster)s” refused the sign-in (%(detail)s). Check the token or password it refers to."
    ),
    "secret_missing": N_(
        "The secret that the telemetry source of “%(cluster)s” refers to is not there (%(detail)s). Set it."
    ),
    "timed_out": N_(
        "The telemetry source of “%(cluster)s” did not answer in time, or found the question too large (%(detail)s). The next pull goes on."
    ),
    "output_cut": N_(
        "The answer of the telemetry source of “%(cluster)s” stopped in the middle (%(detail)s). The next pull goes on."
    ),
    "bad_answer": N_(
        "The telemetry source of “%(cluster)s” answered something else than was asked (%(detail)s). Is it a Prometheus?"
    ),
}
FAILED = N_(
    "The telemetry source of “%(cluster)s” failed (%(code)s: %(detail)s). What was read before stays; the next pull goes on."
)


def fault_worded(fault: SourceFault, cluster: str) -> NotTheMoment:
    """A telemetry source's fault as an error a person can act on."""
    detail = ", ".join(f"{name} {value}" for name, value in fault.detail.items()) or "–"
    return NotTheMoment(FAULTS.get(fault.code, FAILED), cluster=cluster, code=fault.code, detail=detail)
