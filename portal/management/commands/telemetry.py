"""A cluster's telemetry source: say where it is, test it, pull it now."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext

from governance.schedulers.telemetry.words import FINDINGS
from governance.usage.telemetry import actions
from portal.management.terminal import TerminalCommand, an_instant, steps_bar

OPTIONS = ("bearer", "user", "password", "ca_file", "label_map", "step_seconds")


class Command(TerminalCommand):
    """telemetry CLUSTER set URL | probe | pull."""

    help = "Say where a cluster's telemetry is read from (set URL), test the connection (probe), or pull it now (pull)."

    def add_arguments(self, parser: CommandParser) -> None:
        """See docs/telemetry.md."""
        super().add_arguments(parser)
        parser.add_argument("cluster")
        parser.add_argument("deed", choices=("set", "probe", "pull"))
        parser.add_argument("url", nargs="?")
        parser.add_argument("--bearer", help="reference to a token: env:NAME or file:/path")
        parser.add_argument("--user")
        parser.add_argument("--password", help="reference: env:NAME or file:/path")
        parser.add_argument("--ca-file")
        parser.add_argument("--no-verify", action="store_true", help="do not check the server's certificate")
        parser.add_argument("--map", dest="label_map", help="the label map")
        parser.add_argument("--step", type=int, dest="step_seconds", help="seconds between samples")
        parser.add_argument(
            "--idle", type=json.loads, dest="idle_rules", help='options of idle cards, as JSON: {"below": 0.02}'
        )
        parser.add_argument("--since", type=an_instant, dest="since_at", metavar="INSTANT")
        parser.add_argument("--until", type=an_instant, dest="until_at", metavar="INSTANT")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it."""
        {"set": self._set, "probe": self._probe, "pull": self._pull}[options["deed"]](options)

    def _set(self, options: dict[str, Any]) -> None:
        if not options["url"]:
            raise CommandError(gettext("Give the address of the Prometheus."), returncode=1)
        given = {name: options[name] for name in (*OPTIONS, "idle_rules") if options[name] is not None}
        if options["no_verify"]:
            given["verify"] = False
        actions.configure(options["cluster"], actor=self.actor, url=options["url"], **given)

    def _probe(self, options: dict[str, Any]) -> None:
        found = actions.probe(options["cluster"], actor=self.actor)
        if options["as_json"]:
            self.answer([finding._asdict() for finding in found])
        for finding in () if options["as_json"] else found:
            means, do = FINDINGS.get(finding.code, (finding.code, ""))
            try:
                told = [gettext(text) % finding.detail for text in (means, do) if text]
            except KeyError:
                told = [f"{finding.code} {finding.detail}"]
            self.stdout.write(f"{finding.severity}: {' '.join(told if finding.severity != 'ok' else told[:1])}")
        if any(finding.severity == "blocking" for finding in found):
            raise CommandError(gettext("Telemetry cannot be read as it stands."), returncode=1)

    def _pull(self, options: dict[str, Any]) -> None:
        with steps_bar(options["cluster"]) as bar:
            given = {"since_at": options["since_at"], "until_at": options["until_at"]}
            done = actions.pull(options["cluster"], actor=self.actor, progress=bar, **given)
        if options["as_json"]:
            self.answer(done.as_dict())
            return
        words = gettext(
            "%(cluster)s: telemetry of %(days)s days read (%(series)s series): %(new)s new, %(changed)s changed,"
            " %(unchanged)s unchanged rows, %(node_hours)s node hours; %(days_without_series)s days without series."
        )
        self.stdout.write(words % {**done.as_dict(), **vars(done.rows)})
