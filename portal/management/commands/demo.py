"""Make the demo company: invented records that go through the ordinary doors."""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any
from zoneinfo import ZoneInfo

import yaml
from django.contrib.auth.hashers import make_password
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from billing.ledger import actions as ledger
from governance.access.actor import Actor
from governance.access.models import Person
from governance.audit import actions as audit
from governance.audit.models import AuditLine
from governance.catalogue import actions as catalogue
from governance.catalogue.models import Cluster, NodeState
from governance.errors import DomainError
from governance.usage import actions as usage
from portal import organisation
from portal.demo.company import TIME_ZONE
from portal.demo.plan import DemoArguments, DemoPlan, generate
from portal.embedded import demo_password
from portal.management.commands.up import terminal_language

BEGUN, MADE = "demo.begun", "demo.made"


class Command(BaseCommand):
    """`demo`: an empty installation gets a company with half a year of records; an interrupted making goes on."""

    help = "Make the demo company: invented records that go through the ordinary doors."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--gpus", type=int, help="cards in all pools together (default: 1024)")
        parser.add_argument("--months", type=int, help="months of records (default: 6)")
        parser.add_argument("--until", type=date.fromisoformat, metavar="DAY", help="last day (default: yesterday)")
        parser.add_argument("--seed", type=int, help="another seed, another company (default: 1)")
        parser.add_argument("--runs-per-day", type=int, help="records a day on average (default: 900)")
        parser.add_argument("--folder", type=Path, help="keep the files here (default: a temporary folder)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make it; refuses where there is something else already."""
        names = ("gpus", "months", "until", "seed", "runs_per_day")
        given = {name: options[name] for name in names if options[name] is not None}
        with translation.override(terminal_language()):
            try:
                arguments = wanted(given)
                if arguments is None:
                    self.stdout.write(_("The demo company is here already. Nothing was changed."))
                    return
                with kept_or_temporary(options["folder"]) as folder:
                    Making(generate(arguments), folder, Console(file=self.stdout._out)).run()  # type: ignore[attr-defined]
            except (DomainError, ValueError) as fault:
                raise CommandError(str(fault)) from fault


def wanted(given: dict[str, Any]) -> DemoArguments | None:
    """The arguments to make the demo with, None where it is made already.

    A making that was interrupted goes on with the arguments it began with. Raises CommandError where the installation
    holds something else, ValueError where an argument is out of range.
    """
    lines = AuditLine.objects.filter(object_kind="demo")
    begun = lines.filter(action=BEGUN).order_by("-id").first()
    if begun is None:
        if Cluster.objects.exists():
            raise CommandError(_("This installation has clusters already; the demo company needs an empty one."))
        yesterday = datetime.now(ZoneInfo(TIME_ZONE)).date() - timedelta(days=1)
        return DemoArguments(**{"until": yesterday, **given})
    before = {**begun.after, "until": date.fromisoformat(begun.after["until"])}
    if differing := [name for name, value in given.items() if before[name] != value]:
        raise CommandError(
            _("The demo company was begun with other values of %(names)s. Another one needs an empty installation.")
            % {"names": ", ".join(f"--{name.replace('_', '-')}" for name in differing)}
        )
    return None if lines.filter(action=MADE).exists() else DemoArguments(**before)


@contextmanager
def kept_or_temporary(folder: Path | None) -> Iterator[Path]:
    """The folder asked for, made if need be, or one that goes away afterwards."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with nullcontext(folder) if folder else tempfile.TemporaryDirectory(prefix="steelyard-demo-") as chosen:
        yield Path(chosen)


class Making:
    """The steps from nothing to a posted ledger. Each may run twice: the doors they use see to that."""

    def __init__(self, plan: DemoPlan, folder: Path, console: Console) -> None:
        self.plan = plan
        self.folder = folder
        self.console = console
        self.actor = Actor.machine("demo")

    def run(self) -> None:
        """All steps in order."""
        self._mark(BEGUN)
        paths = {cluster: self._write(cluster) for cluster in self.plan.clusters}
        self._load()
        self._set_states()
        for cluster, files in paths.items():
            self._import(cluster, files)
            self._meter(cluster)
        with self._step(_("Ledger posted")) as progress:
            ledger.post(actor=self.actor, progress=progress)
        self._mark(MADE)

    @transaction.atomic
    def _mark(self, action: str) -> None:
        if not AuditLine.objects.filter(object_kind="demo", action=action).exists():
            audit.record(self.actor, action, "demo", "demo", after=asdict(self.plan.arguments))

    def _write(self, cluster: str) -> list[Path]:
        with self._step(_("Records of %(cluster)s generated") % {"cluster": cluster}) as progress:
            return self.plan.write(self.folder, cluster, progress)

    def _load(self) -> None:
        """Through YAML, as a person would: what is loaded is what the file says."""
        file = self.folder / "organisation.yaml"
        text = yaml.safe_dump(self.plan.organisation, allow_unicode=True, sort_keys=False)
        file.write_text(text, encoding="utf-8")
        with self._step(_("Organisation loaded")):
            organisation.actions.load(yaml.safe_load(text), actor=self.actor)
            self._open_doors()

    @transaction.atomic
    def _open_doors(self) -> None:
        """One password for all demo people, hashed once."""
        names = [person["username"] for person in self.plan.organisation["people"]]
        Person.objects.filter(username__in=names).update(password=make_password(demo_password()))
        audit.record(self.actor, "demo.passwords_set", "demo", "demo", after={"people": names})

    def _set_states(self) -> None:
        known = set(NodeState.objects.values_list("node__cluster__code", "node__name", "from_at"))
        outages = self.plan.outages()
        with self._step(_("Node outages entered")) as progress, transaction.atomic():
            for number, outage in enumerate(outages, 1):
                from_at = datetime.fromtimestamp(outage.from_at, UTC)
                if (outage.cluster, outage.node, from_at) not in known:
                    catalogue.set_node_state(
                        outage.cluster,
                        outage.node,
                        outage.state,
                        from_at=from_at,
                        to_at=None if outage.to_at is None else datetime.fromtimestamp(outage.to_at, UTC),
                        reason=outage.reason,
                        actor=self.actor,
                    )
                progress(number, len(outages))

    def _import(self, cluster: str, files: list[Path]) -> None:
        """The last file was read when the records end; the others tell by themselves when they were true."""
        end_at = datetime.fromtimestamp(self.plan.end_at, UTC)
        with self._step(_("Records of %(cluster)s imported") % {"cluster": cluster}) as progress:
            for number, file in enumerate(files, 1):
                observed_at = end_at if file == files[-1] else None
                usage.import_files(cluster, [str(file)], actor=self.actor, observed_at=observed_at)
                progress(number, len(files))

    def _meter(self, cluster: str) -> None:
        with self._step(_("Days of %(cluster)s metered") % {"cluster": cluster}) as progress:
            usage.meter(cluster, actor=self.actor, progress=progress)

    @contextmanager
    def _step(self, title: str) -> Iterator[Callable[[int, int], None]]:
        """A bar while it runs where somebody watches, and one line with its seconds when it is done."""
        began = monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        watched = self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=not watched) as bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        self.console.print(f"{title} · {monotonic() - began:.1f} s", highlight=False)
