"""Doors of operations: how far each cluster's records are, what is wrong with them, and bringing more in."""

from __future__ import annotations

import hashlib
import tempfile
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from governance.access.actor import Actor
from governance.doors import once, paging
from governance.doors.door import ListDoor, OneDoor, WriteDoor
from governance.doors.query import Paged, Query, narrowed, text
from governance.errors import N_, BadData, TooMuch
from governance.schedulers.files import FORMATS, ReadOptions
from governance.work import reads as work_reads
from governance.work.api import WorkRow, see_operations
from governance.work.models import WorkItem

from ..actions import cluster_of, import_files
from ..ingest import Counts
from ..live_models import PullFinding
from ..models import Intake, QuarantinedRecord
from . import actions, reads, words

BLOCK = 1 << 20
TOO_LARGE = N_("At most %(most)s MiB are taken at once. Send the records in parts, or run import_usage on the server.")


class MarkRow(serializers.Serializer[Any]):
    """How far a stage is."""

    stage = serializers.CharField()
    until_at = serializers.DateTimeField(allow_null=True)
    lag_seconds = serializers.FloatField(allow_null=True)


class ClusterRow(serializers.Serializer[Any]):
    """A cluster and how collection stands."""

    code = serializers.CharField(source="cluster.code")
    name = serializers.CharField(source="cluster.name")
    scheduler_kind = serializers.CharField(source="cluster.scheduler_kind")
    is_live = serializers.BooleanField(help_text=_("Whether a scheduler is asked, rather than files read."))
    time_zone = serializers.CharField(source="cluster.time_zone")
    tracks_gpus = serializers.BooleanField(source="cluster.tracks_gpus")
    watermarks = MarkRow(many=True, source="marks")
    open_findings = serializers.IntegerField(source="findings")
    quarantined = serializers.IntegerField()
    next_pull_at = serializers.DateTimeField(source="next_at", allow_null=True)
    last_errors = serializers.SerializerMethodField()

    def get_last_errors(self, row: reads.ClusterRow) -> list[str]:
        """In the reader's language."""
        return [work_reads.error_words(item) for item in row.faults]


class ClustersDoor(ListDoor):
    """Clusters."""

    name = "api-clusters"
    title = _("Clusters")
    says = _("Each cluster with its watermarks, lag, open findings and quarantined records.")
    out = ClusterRow

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see operations."""
        see_operations(actor)

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """By code."""
        rows = reads.cluster_rows(reads.work_now())
        return paging.of_list(rows, lambda row: [row.cluster.code], after, limit)


class ClusterDoor(OneDoor):
    """One cluster."""

    name = "api-cluster"
    title = _("One cluster")
    says = _("A cluster with its watermarks, lag, open findings and quarantined records.")
    out = ClusterRow

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see operations, where it is there."""
        see_operations(actor)
        cluster_of(where["code"])

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> reads.ClusterRow:
        """As the list has it."""
        cluster = reads.known_clusters().get(code=where["code"])
        return reads.cluster_row(cluster, reads.work_now())


class FindingRow(serializers.Serializer[Any]):
    """Something that wants a look."""

    id = serializers.IntegerField()
    cluster = serializers.CharField(source="cluster.code")
    code = serializers.CharField()
    subject = serializers.CharField()
    words = serializers.SerializerMethodField()
    detail = serializers.JSONField()
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    resolved_at = serializers.DateTimeField(allow_null=True)

    def get_words(self, finding: PullFinding) -> str:
        """What it means, in the reader's language."""
        return str(words.of_pull(finding).means)


class FindingsQuery(Paged):
    """Filters of findings."""

    cluster = text(_("The code of a cluster."))
    code = text(_("A kind of finding, such as “source_fault”."))
    is_open = serializers.BooleanField(required=False, help_text=_("Open or resolved."))


class FindingsDoor(ListDoor):
    """Findings."""

    name = "api-findings"
    title = _("Findings")
    says = _("What is wrong with the records or the source of a cluster; the latest first. They close by themselves.")
    query, out, order = FindingsQuery, FindingRow, ("-id",)

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see operations."""
        see_operations(actor)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[PullFinding]:
        """Of every cluster."""
        rows = PullFinding.objects.select_related("cluster")
        if "is_open" in asked:
            rows = rows.filter(resolved_at__isnull=asked["is_open"])
        return narrowed(rows, asked, {"cluster": "cluster__code", "code": "code"})


class QuarantineRow(serializers.Serializer[Any]):
    """A record that could not be read."""

    id = serializers.IntegerField()
    cluster = serializers.CharField(source="cluster.code")
    code = serializers.CharField()
    reason = serializers.CharField()
    raw = serializers.CharField()
    source = serializers.CharField(source="intake.source")
    first_at = serializers.DateTimeField()
    resolved_at = serializers.DateTimeField(allow_null=True)


class QuarantineQuery(Paged):
    """Filters of quarantine."""

    cluster = text(_("The code of a cluster."))
    code = text(_("Why it could not be read."))
    is_open = serializers.BooleanField(required=False, help_text=_("Open or resolved."))


class QuarantineDoor(ListDoor):
    """Quarantine."""

    name = "api-quarantine"
    title = _("Quarantine")
    says = _("Records that could not be read, with their text and why; the latest first.")
    query, out, order = QuarantineQuery, QuarantineRow, ("-id",)

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see operations."""
        see_operations(actor)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[QuarantinedRecord]:
        """Of every cluster."""
        rows = QuarantinedRecord.objects.select_related("cluster", "intake")
        if "is_open" in asked:
            rows = rows.filter(resolved_at__isnull=asked["is_open"])
        return narrowed(rows, asked, {"cluster": "cluster__code", "code": "code"})


class IntakeRow(serializers.Serializer[Any]):
    """One call that brought records in."""

    id = serializers.IntegerField()
    cluster = serializers.CharField(source="cluster.code")
    source = serializers.CharField()
    format = serializers.CharField()
    actor = serializers.CharField()
    at = serializers.DateTimeField()
    observed_at = serializers.DateTimeField(allow_null=True)
    read = serializers.IntegerField()
    new = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    steps_skipped = serializers.IntegerField()
    quarantined = serializers.IntegerField()


class IntakesQuery(Paged):
    """Filters of intakes."""

    cluster = text(_("The code of a cluster."))


class IntakesDoor(ListDoor):
    """Intakes."""

    name = "api-intakes"
    title = _("Calls that brought records in")
    says = _("Each file or pull with its counts; the latest first.")
    query, out, order = IntakesQuery, IntakeRow, ("-id",)

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see operations."""
        see_operations(actor)

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Intake]:
        """Of every cluster."""
        return narrowed(Intake.objects.select_related("cluster"), asked, {"cluster": "cluster__code"})


class ClusterWrite(WriteDoor):
    """A write about a cluster."""

    capability = "records.import"

    def see(self, actor: Actor, **where: Any) -> None:
        """Those who see operations, where the cluster is there."""
        see_operations(actor)
        cluster_of(where["code"])


class PullDoor(ClusterWrite):
    """A pull, asked for."""

    name = "api-cluster-pull"
    title = _("Pull now")
    says = _(
        "Asks for a pull of a live cluster; the work done shows in the list of work. 409 for a cluster without one."
    )
    result, success = WorkRow, 202

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> WorkItem:
        """By the action of the page."""
        actions.ask_pull(where["code"], actor=actor)
        return WorkItem.objects.get(kind=actions.PULL, key=where["code"])


class CountsOut(serializers.Serializer[Any]):
    """What became of records."""

    read = serializers.IntegerField()
    new = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    steps_skipped = serializers.IntegerField()
    quarantined = serializers.IntegerField()


class QuarantineRetryDoor(ClusterWrite):
    """Quarantined records, read again."""

    name = "api-quarantine-retry"
    title = _("Read quarantined records again")
    says = _("What can be read now becomes runs, the rest stays. 409 where they are too many to wait for.")
    result = CountsOut

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Counts:
        """By the action of the page."""
        return actions.read_again(where["code"], actor=actor)


class AnyParser(BaseParser):
    """Leaves the body to the door."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The stream itself."""
        return stream


class RecordsQuery(Query):
    """How the file is to be read."""

    format = serializers.ChoiceField(choices=FORMATS, required=False, help_text=_("Found out where nothing is said."))
    time_zone = text(_("Of times without an offset; the cluster's where nothing is said."), max_length=64)
    observed_at = serializers.DateTimeField(required=False, help_text=_("When the records were taken."))


class RecordsDoor(ClusterWrite):
    """A file of records."""

    name = "api-cluster-records"
    title = _("Import records")
    says = _(
        "The body is a file as sacct or slurmrestd prints it, plain or gzip. It is imported whole or not at all; the"
        " same records again change nothing."
    )
    options, result, writes_with = RecordsQuery, CountsOut, "import"
    takes_file = ("application/octet-stream", "text/plain", "application/gzip")
    parser_classes = [AnyParser]

    def digest(self, request: Request) -> str:
        """Of the file too, which is kept aside while it is read."""
        whole = request._request
        return once.digest(str(whole.method).encode(), whole.get_full_path().encode(), self._received(request))

    def post(self, request: Request, **where: Any) -> Response:
        """With a place for the file until it is read."""
        with tempfile.NamedTemporaryFile(prefix="steelyard-", suffix=".records") as self._file:
            self._digest = b""
            return super().post(request, **where)

    def _received(self, request: Request) -> bytes:
        """Take the body into the file, once; answers its digest. Raises TooMuch."""
        if not self._digest:
            made, most = hashlib.sha256(), settings.API_UPLOAD_MIB << 20
            while block := request._request.read(BLOCK):
                most -= len(block)
                if most < 0:
                    raise TooMuch(TOO_LARGE, most=settings.API_UPLOAD_MIB)
                made.update(block)
                self._file.write(block)
            self._file.flush()
            self._digest = made.digest()
        return self._digest

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Counts:
        """By the action of the command."""
        cluster = cluster_of(where["code"])
        options = ReadOptions(format=asked.get("format", "auto"), time_zone=asked.get("time_zone") or cluster.time_zone)
        digest = self._received(self.request)
        if not self._file.tell():
            raise BadData(N_("The body is empty. Send a file of records."))
        (counts,) = import_files(
            cluster.code,
            [self._file.name],
            actor=actor,
            options=options,
            observed_at=asked.get("observed_at"),
            called=f"api:{digest.hex()[:12]}",
        )
        return counts
