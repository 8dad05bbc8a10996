"""Import scheduler records from files."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext

from governance.schedulers.files import FORMATS, ReadOptions
from governance.usage import actions
from governance.usage.ingest import Counts
from portal.management.terminal import TerminalCommand, an_instant, bytes_bar


class Command(TerminalCommand):
    """import_usage CLUSTER FILE… : exit status 0 with quarantine, 1 when nothing could be read."""

    help = (
        "Import scheduler records (sacct text or JSON, slurmrestd answers; .gz; - for standard input) into a cluster."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """See the README for examples."""
        super().add_arguments(parser)
        parser.add_argument("cluster")
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--format", choices=FORMATS, default="auto", dest="record_format")
        parser.add_argument(
            "--fields",
            help="column names in order, comma-separated, where there is no header line; xdmod names XDMoD's order",
        )
        parser.add_argument("--delimiter", help=r"between columns; \x1f and the like are understood")
        parser.add_argument(
            "--time-zone", help="of the scheduler's clock where its output is naive; default: the cluster's"
        )
        parser.add_argument("--observed-at", type=an_instant, help="when the records were read from the scheduler")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import each file; print the counts."""
        cluster = actions.cluster_of(options["cluster"])
        fields = options["fields"]
        how = ReadOptions(
            format=options["record_format"],
            fields=tuple(name.strip() for name in fields.split(",")) if fields else None,
            delimiter=options["delimiter"].encode().decode("unicode_escape") if options["delimiter"] else None,
            time_zone=options["time_zone"] or cluster.time_zone,
        )
        total = Counts()
        for path in options["files"]:
            size = os.path.getsize(path) if os.path.isfile(path) else 0
            with bytes_bar(os.path.basename(path), size) as bar:
                given = {"actor": self.actor, "options": how, "observed_at": options["observed_at"], "on_bytes": bar}
                (counts,) = actions.import_files(cluster.code, [path], **given)
            total.add(counts)
        if options["as_json"]:
            self.answer(vars(total))
        else:
            self.stdout.write(
                gettext(
                    "%(read)s records read: %(new)s new, %(changed)s changed, %(unchanged)s unchanged,"
                    " %(steps_skipped)s steps passed over, %(quarantined)s in quarantine."
                )
                % vars(total)
            )
        if total.read and total.quarantined == total.read:
            raise CommandError(
                gettext("Not one record could be read; all are in quarantine with their reasons."), returncode=1
            )
