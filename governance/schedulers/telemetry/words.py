"""What telemetry's connection test and pulls may find: for each code what it means and what to do, as msgids with named parameters.

Parameters are the finding's `detail`. Where there is nothing to do the second text is empty.
"""

from __future__ import annotations


def N_(message: str) -> str:  # noqa: N802  the usual name of a gettext marker; governance.errors lies beside, not below
    """Mark a message for translation without translating it here."""
    return message


#: code -> (what it means, what to do)
FINDINGS: dict[str, tuple[str, str]] = {
    "telemetry_answers": (N_("The telemetry source answers; it is version %(version)s."), ""),
    "telemetry_no_activity": (
        N_("There is no series of %(looked_for)s. Label maps whose series are there: %(maps_that_fit)s."),
        N_("Choose a label map that fits, or let the exporter give these metrics."),
    ),
    "telemetry_series": (N_("Series found: %(metrics)s."), ""),
    "telemetry_kinds_missing": (
        N_("Nothing tells of %(kinds)s."),
        N_("Add these metrics to the exporter's list; without them the figures stay empty."),
    ),
    "telemetry_coarse_activity": (
        N_("Only %(only)s is there. It says that some kernel ran, not how much of the card it used."),
        N_("Let the exporter give %(better)s too."),
    ),
    "telemetry_nodes": (
        N_("%(nodes)s nodes are named, by the label %(label)s."),
        N_("Where the label is “instance”, nodes go by the exporter's address: let the exporter set Hostname."),
    ),
    "telemetry_cards": (N_("%(cards)s cards in %(series)s series; %(with_job)s of these name a job."), ""),
    "telemetry_unplaced": (
        N_("%(series)s series name no node or no card. What they say belongs to nobody."),
        N_("Look at the labels of these series, and at the label map."),
    ),
    "telemetry_doubled": (
        N_("%(series)s series tell of a card that another one tells of: two exporters, or one scraped twice."),
        N_("The busier counts. Stop one of the two."),
    ),
    "telemetry_no_job_mapping": (
        N_("No series names a job (looked for: %(labels)s). Card time stays unknown; nothing is guessed from times."),
        N_(
            "On Slurm run dcgm-exporter with --hpc-job-mapping-dir and a prolog; on Kubernetes turn on its Kubernetes mode."
        ),
    ),
    "telemetry_scrape_interval": (
        N_("A card is told of every %(seconds)s seconds; samples are read every %(step_seconds)s."),
        N_("Where scrapes are rarer than the step, make the step as long as the scrape interval."),
    ),
    "telemetry_horizon": (
        N_("The earliest sample is of %(earliest_at)s; the server keeps them for %(retention)s."),
        N_("Pull before they are dropped; what was dropped stays unknown."),
    ),
    # found by pulls
    "telemetry_fault": (
        N_("The last pull of telemetry failed."),
        N_("See the detail; the next pull goes on where it was."),
    ),
    "telemetry_silent": (
        N_("%(days)s days were asked for and no series of the label map was there. The watermark stays."),
        N_("Test the connection; choose the label map that fits."),
    ),
    "telemetry_excess": (
        N_(
            "More card time is known of the run on that day than it held: %(known_milligpu_seconds)s of %(held_milligpu_seconds)s."
        ),
        N_(
            "The facts are cut to what it held. See whether the job mapping names cards that are not the job's, or the record lacks cards."
        ),
    ),
    "telemetry_without_run": (
        N_("Cards were seen at work for a job that no record tells of."),
        N_("Pull the cluster's records of that day again; the figures join the run when it comes."),
    ),
}
