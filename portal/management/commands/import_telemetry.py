"""Import telemetry from files."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext

from governance.usage.actions import cluster_of
from governance.usage.telemetry import actions
from governance.usage.telemetry.files import FORMATS
from portal.management.terminal import TerminalCommand, an_instant, bytes_bar


class Command(TerminalCommand):
    """import_telemetry CLUSTER FILE… : all files of a call are judged together; exit status 1 when nothing could be read."""

    help = "Import what cards did from files (Prometheus answers, CSV, ClusterCockpit job lines; .gz; - for standard input)."

    def add_arguments(self, parser: CommandParser) -> None:
        """See docs/telemetry.md."""
        super().add_arguments(parser)
        parser.add_argument("cluster")
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--format", choices=FORMATS, default="auto", dest="sample_format")
        parser.add_argument(
            "--map", dest="label_map", help="the label map; default: that of the cluster's telemetry source, else dcgm"
        )
        parser.add_argument(
            "--step", type=int, help="seconds that a sample speaks for; default: the usual distance of samples"
        )
        parser.add_argument(
            "--observed-at", type=an_instant, help="when the samples were read; default: the last sample of each"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import; print the counts and, of what could not be read, the first reasons."""
        cluster = cluster_of(options["cluster"])
        size = sum(os.path.getsize(path) for path in options["files"] if os.path.isfile(path))
        with bytes_bar(cluster.code, size) as bar:
            done = actions.import_files(
                cluster.code,
                options["files"],
                actor=self.actor,
                format=options["sample_format"],
                label_map_name=options["label_map"],
                step=options["step"],
                observed_at=options["observed_at"],
                on_bytes=bar,
            )
        if options["as_json"]:
            self.answer(done.as_dict())
        else:
            told = {**done.as_dict(), **vars(done.rows)}
            self.stdout.write(
                gettext(
                    "%(samples)s samples of %(jobs)s jobs read: %(new)s new, %(changed)s changed, %(unchanged)s unchanged rows,"
                    " %(node_hours)s node hours; %(jobs_without_run)s jobs without a run, %(blank)s blank values,"
                    " %(bad)s could not be read."
                )
                % told
            )
            for fault in done.faults[:10]:
                self.stdout.write(f"  {fault['file']}: {fault['code']}: {fault['reason']}")
        if done.bad and not done.samples:
            raise CommandError(gettext("Not one sample could be read."), returncode=1)
