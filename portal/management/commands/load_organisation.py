"""Declare departments, projects, people, clusters, mappings and prices from one file."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from rich.table import Table
from rich.text import Text

from governance.errors import N_, BadData
from portal.management.terminal import TerminalCommand, a_day
from portal.organisation import document, schema
from portal.organisation.actions import load
from portal.organisation.dump import folded
from portal.organisation.plan import Change, Plan, as_data

VERBS = {"add": N_("add"), "change": N_("change"), "end": N_("end"), "remove": N_("remove")}


class Command(TerminalCommand):
    """`load_organisation FILE [--dry-run] [--prune --on DAY] [--json]`, or `--schema`."""

    help = "Declare departments, projects, people, clusters, mappings and prices from one file. Twice changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """The file and how to take it."""
        super().add_arguments(parser)
        parser.add_argument("file", nargs="?", help="the YAML file, - for standard input")
        parser.add_argument("--dry-run", action="store_true", help="show the plan and write nothing")
        parser.add_argument("--prune", action="store_true", help="end dated items that the file leaves out; needs --on")
        parser.add_argument("--on", type=a_day, metavar="DAY", help="the day on which they end")
        parser.add_argument("--schema", action="store_true", help="print the JSON Schema of the form and stop")

    def handle(self, *args: Any, **options: Any) -> None:
        """Load and show what changed, or would."""
        if options["schema"]:
            self.answer(schema.published())
            return
        if not options["file"]:
            raise CommandError(_("Name the file to load, or - for standard input."), returncode=1)
        if options["prune"] != (options["on"] is not None):
            raise BadData(N_("--prune and --on DAY belong together: what the file leaves out ends on that day."))
        self._load(options)

    def _load(self, options: dict[str, Any]) -> None:
        source = sys.stdin.buffer.read() if options["file"] == "-" else Path(options["file"])
        found = load(document.read(source), actor=self.actor, dry_run=options["dry_run"], prune_on=options["on"])
        if options["as_json"]:
            self.answer({"dry_run": options["dry_run"], **as_data(found)})
        else:
            self._show(found, dry_run=options["dry_run"])

    def _show(self, found: Plan, *, dry_run: bool) -> None:
        if not found.changes:
            self.stdout.write(_("Nothing to change: the organisation already says what the file says."))
            return
        shown = Table(show_edge=False, pad_edge=False)
        for heading in (_("what"), _("kind"), _("key"), _("before"), _("after")):
            shown.add_column(heading, overflow="fold")
        for change in _gathered(found.changes):
            cells = (_(VERBS[change.verb]), change.kind, change.key, _values(change.before), _values(change.after))
            shown.add_row(*map(Text, cells))  # as text, since [h800] would be taken for markup
        self.table().print(shown)
        counts = found.counts
        self.stdout.write(
            _("%(add)s to add, %(change)s to change, %(end)s to end, %(remove)s to remove. ") % counts
            + (_("Dry run: nothing was written.") if dry_run else _("Written."))
        )


def _gathered(changes: list[Change]) -> list[Change]:
    """The same lines, nodes that change alike in one."""
    shown: list[Change] = []
    nodes: dict[tuple[str, ...], tuple[int, list[str]]] = {}
    for change in changes:
        if change.kind != "node":
            shown.append(change)
            continue
        cluster, name, model = change.key.split("/")
        alike = (change.verb, cluster, model, str(change.before), str(change.after))
        position, names = nodes.setdefault(alike, (len(shown), []))
        if not names:
            shown.append(change)
        names.append(name)
    for (_verb, cluster, model, *_rest), (position, names) in nodes.items():
        shown[position] = replace(shown[position], key=f"{cluster}/{folded(names)}/{model}")
    return shown


def _values(values: dict[str, Any] | None) -> str:
    """What there is to see of a row, in one cell."""
    shown = {word: value for word, value in (values or {}).items() if value not in (None, "", [], {})}
    return ", ".join(f"{word}: {_value(value)}" for word, value in shown.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{word}: {_value(one)}" for word, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)
