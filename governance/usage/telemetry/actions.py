"""Telemetry: say where it is read from, test that, pull it, import it from files. Pages, tasks and commands call these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from governance.access.actor import Actor, require
from governance.audit.actions import record as audit
from governance.catalogue.models import Cluster
from governance.errors import N_, BadData, NotTheMoment
from governance.schedulers.errors import UnreadableSource
from governance.schedulers.live import Finding, SourceFault
from governance.schedulers.telemetry.activity import IdleRules
from governance.schedulers.telemetry.client import Endpoint, Prometheus
from governance.schedulers.telemetry.labels import LabelMap, label_map, named_maps
from governance.schedulers.telemetry.probe import probe as ask

from .. import findings
from ..actions import cluster_of
from ..telemetry_models import TelemetryIntake, TelemetrySource
from ..wording import worded
from .files import FORMATS, Imported, Intake
from .pulling import How, Progress, Pull, Pulled
from .reads import note_findings
from .wording import fault_worded

DEFAULT_MAP = "dcgm"  # both Slurm's and Kubernetes' labels
NO_SOURCE = N_("Cluster “%(code)s” has no telemetry source. Say first where its Prometheus answers.")
UNKNOWN_MAP = N_("“%(name)s” is no label map. The maps are %(maps)s; or give one of your own in the same form.")
BAD_MAP = N_("The label map cannot be used: %(reason)s.")
BAD_RULES = N_("The options of idle cards cannot be used: %(reason)s.")
PLAIN_SECRET = N_("A secret is given by reference, env:NAME or file:/path; the secret itself is not kept here.")
BAD_URL = N_("“%(url)s” is no address of a Prometheus. It begins with http:// or https:// and holds no password.")


@transaction.atomic
def configure(cluster_code: str, *, actor: Actor, url: str, **options: Any) -> TelemetrySource:
    """Say where a cluster's telemetry is read from. `options` are the other fields of TelemetrySource.

    Raises NotAllowed, NotFound, and BadData for an address, map, rule or secret that cannot be used.
    """
    require(actor, "catalogue.change")
    cluster = cluster_of(cluster_code)
    before = TelemetrySource.objects.select_for_update().filter(cluster=cluster).first()
    source = before or TelemetrySource(cluster=cluster)
    was = _shown(source) if before else None
    source.url = url.strip()
    known = {field.name for field in TelemetrySource._meta.concrete_fields} - {"id", "cluster", "url"}
    for name, value in options.items():
        if name not in known:
            raise BadData(N_("There is no option “%(name)s” of a telemetry source."), name=name)
        setattr(source, name, value)
    if not source.url.startswith(("http://", "https://")) or "@" in source.url:
        raise BadData(BAD_URL, url=source.url)
    if any(held and not held.startswith(("env:", "file:")) for held in (source.bearer, source.password)):
        raise BadData(PLAIN_SECRET)
    how_of(source)
    source.save()
    audit(actor, "telemetry.configured", "cluster", cluster.code, before=was, after=_shown(source))
    return source


def how_of(source: TelemetrySource) -> How:
    """How a source is read; raises BadData for a map or rules that cannot be used."""
    return How(map_of(source.label_map, source.own_map), rules_of(source.idle_rules), source.step_seconds)


def map_of(name: str, own: dict[str, Any] | None = None) -> LabelMap:
    """The installation's own label map, else the one with this name; raises BadData."""
    if own:
        try:
            return label_map(name, own)
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise BadData(BAD_MAP, reason=str(fault)) from None
    found = named_maps().get(name)
    if found is None:
        raise BadData(UNKNOWN_MAP, name=name, maps=", ".join(sorted(named_maps())))
    return found


def rules_of(options: dict[str, Any]) -> IdleRules:
    """The rules of idle cards with an installation's options; raises BadData."""
    unknown = set(options) - {field.name for field in fields(IdleRules)}
    if unknown:
        raise BadData(BAD_RULES, reason=", ".join(sorted(unknown)))
    try:
        given: dict[str, Any] = {
            name: float(value) if name == "below" else int(value) for name, value in options.items()
        }
        rules = IdleRules(**given)
    except (TypeError, ValueError) as fault:
        raise BadData(BAD_RULES, reason=str(fault)) from None
    if not (
        0 < rules.below < 1
        and 0 < rules.idle_after_s <= 86_400
        and 0 <= rules.grace_s <= 86_400
        and 0 <= rules.bridge_s <= 3600
    ):
        raise BadData(BAD_RULES, reason="out of range")
    return rules


def endpoint_of(source: TelemetrySource) -> Endpoint:
    """Where and how to ask."""
    return Endpoint(
        source.url,
        bearer=source.bearer,
        user=source.user,
        password=source.password,
        verify=source.verify,
        ca_file=source.ca_file,
        headers=tuple(sorted(source.headers.items())),
    )


def pull(
    cluster_code: str,
    *,
    actor: Actor,
    since_at: datetime | None = None,
    until_at: datetime | None = None,
    progress: Progress | None = None,
) -> Pulled:
    """Pull a cluster's telemetry, by default from the watermark to where its records have come. Days that change are marked for metering.

    Raises NotTheMoment where there is no source, or where it does not answer; what was read before stays, and the fault stands as an
    open finding until a pull succeeds.
    """
    require(actor, "records.import")
    cluster = cluster_of(cluster_code)
    source = source_of(cluster)
    try:
        with Prometheus(endpoint_of(source)) as client:
            done = Pull(cluster, client, how_of(source), actor.name).run(since_at, until_at, progress)
    except SourceFault as fault:
        detail = {name: str(value)[:500] for name, value in fault.detail.items()}
        findings.replace(cluster, "telemetry_fault", {fault.code: detail}, at=timezone.now())
        raise fault_worded(fault, cluster.code) from fault
    findings.replace(cluster, "telemetry_fault", {}, at=timezone.now())
    silent = {"": {"days": done.days_without_series}} if done.days and done.days_without_series == done.days else {}
    findings.replace(cluster, "telemetry_silent", silent, at=timezone.now())
    unplaced = {"": {"series": done.unplaced_series}} if done.unplaced_series else {}
    findings.replace(cluster, "telemetry_unplaced", unplaced, at=timezone.now())
    note_findings(cluster)
    return done


def probe(cluster_code: str, *, actor: Actor, at: float | None = None) -> list[Finding]:
    """The connection test of a cluster's telemetry source: what is there, what is missing. A source that cannot be asked is one finding."""
    require(actor, "catalogue.change")
    source = source_of(cluster_of(cluster_code))
    try:
        with Prometheus(endpoint_of(source)) as client:
            return ask(client, how_of(source).by, source.step_seconds, at)
    except SourceFault as fault:
        return [Finding(fault.code, "blocking", {name: str(value)[:500] for name, value in fault.detail.items()})]


def source_of(cluster: Cluster) -> TelemetrySource:
    """The cluster's telemetry source; raises NotTheMoment where none is set."""
    found = TelemetrySource.objects.filter(cluster=cluster).first()
    if found is None:
        raise NotTheMoment(NO_SOURCE, code=cluster.code)
    return found


def import_files(
    cluster_code: str,
    paths: Sequence[str],
    *,
    actor: Actor,
    format: str = "auto",
    label_map_name: str | None = None,
    step: int | None = None,
    observed_at: datetime | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> Imported:
    """Import telemetry from files, all of a call together and all or nothing: one card's metrics may lie in several of them.

    The map and the rules are the cluster's own where it has a source. Raises NotAllowed, NotFound, and BadData for the first file that
    cannot be read, and then nothing was written.
    """
    require(actor, "records.import")
    cluster = cluster_of(cluster_code)
    if format not in FORMATS:
        raise worded(UnreadableSource("unknown_telemetry_format", format=format), format)
    source = TelemetrySource.objects.filter(cluster=cluster).first()
    by = map_of(label_map_name or DEFAULT_MAP) if label_map_name or source is None else how_of(source).by
    rules = how_of(source).rules if source else IdleRules()
    with transaction.atomic():
        intake = Intake(cluster, by, rules, step, observed_at)
        kinds: list[str] = []
        path = ""
        try:
            for path in paths:
                kinds.append(intake.file(path, format, on_bytes))
            done = intake.judge()
        except UnreadableSource as fault:
            raise worded(fault, str(fault.detail.get("name", path))) from fault
        _note(cluster, paths, kinds, done, observed_at, actor)
    note_findings(cluster)
    return done


def _note(
    cluster: Cluster, paths: Sequence[str], kinds: list[str], done: Imported, observed_at: datetime | None, actor: Actor
) -> None:
    counts = {name: value for name, value in done.as_dict().items() if name != "faults"}
    TelemetryIntake.objects.create(
        cluster=cluster,
        source=", ".join(paths)[-500:],
        format=", ".join(sorted(set(kinds)))[:32],
        actor=actor.name,
        observed_at=observed_at,
        counts=counts,
        faults=done.faults,
    )
    audit(actor, "telemetry.imported", "cluster", cluster.code, after={"files": list(paths), **counts})


def _shown(source: TelemetrySource) -> dict[str, Any]:
    return {
        f.name: getattr(source, f.name)
        for f in TelemetrySource._meta.concrete_fields
        if f.name not in ("id", "cluster")
    }
