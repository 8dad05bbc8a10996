"""Pull a live cluster now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext

from governance.usage import live
from portal.management.terminal import TerminalCommand, an_instant, steps_bar


class Command(TerminalCommand):
    """pull CLUSTER [--since --until]."""

    help = "Pull records, queue and nodes of a live cluster; by default from the watermark less two hours to now."

    def add_arguments(self, parser: CommandParser) -> None:
        """Instants are ISO with an offset, or epoch seconds."""
        super().add_arguments(parser)
        parser.add_argument("cluster")
        parser.add_argument("--since", type=an_instant, dest="since_at", metavar="INSTANT")
        parser.add_argument(
            "--until",
            type=an_instant,
            dest="until_at",
            metavar="INSTANT",
            help="exclusive; queue and nodes are then left out",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Pull; print what came."""
        with steps_bar(options["cluster"]) as bar:
            given = {"since_at": options["since_at"], "until_at": options["until_at"]}
            done = live.pull(options["cluster"], actor=self.actor, progress=bar, **given)
        if options["as_json"]:
            self.answer(done.as_dict())
            return
        words = gettext(
            "%(cluster)s: %(read)s records read in %(windows)s windows: %(new)s new, %(changed)s changed, %(unchanged)s unchanged,"
            " %(quarantined)s in quarantine; %(waiting)s jobs wait, %(nodes)s nodes seen."
        )
        self.stdout.write(words % {**done.as_dict(), **vars(done.records)})
