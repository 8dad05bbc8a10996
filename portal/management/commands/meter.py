"""Rebuild day facts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext

from governance.catalogue.models import Cluster
from governance.usage import actions
from portal.management.terminal import TerminalCommand, a_day, an_instant, steps_bar


class Command(TerminalCommand):
    """meter [--from --to --until]."""

    help = "Rebuild the day facts of every cluster's dirty days and of those its records have newly reached."

    def add_arguments(self, parser: CommandParser) -> None:
        """Days are half-open, in the billing time zone."""
        super().add_arguments(parser)
        parser.add_argument("--cluster", help="only this cluster")
        parser.add_argument("--from", type=a_day, dest="from_on", metavar="DAY")
        parser.add_argument("--to", type=a_day, dest="to_on", metavar="DAY", help="exclusive")
        parser.add_argument(
            "--until", type=an_instant, dest="until_at", metavar="INSTANT", help="count nothing at or after it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Meter cluster by cluster."""
        codes = (
            [options["cluster"]]
            if options["cluster"]
            else list(Cluster.objects.order_by("code").values_list("code", flat=True))
        )
        done = []
        for code in codes:
            with steps_bar(code) as bar:
                given = {"from_on": options["from_on"], "to_on": options["to_on"], "until_at": options["until_at"]}
                done.append(actions.meter(code, actor=self.actor, progress=bar, **given).as_dict())
        if options["as_json"]:
            self.answer(done)
            return
        for found in done:
            words = gettext(
                "%(cluster)s: %(days)s days metered, %(days_changed)s changed, %(rows_written)s rows written; complete to %(through)s"
            )
            self.stdout.write(words % found)
