"""Make the demo company: invented records that go through the ordinary doors."""

from __future__ import annotations

import tempfile
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
from django.core.management.base import CommandParser
from django.db import transaction
from django.utils.translation import gettext as _

from billing.ledger import actions as ledger
from governance.access.actor import Actor
from governance.access.models import Person
from governance.audit import actions as audit
from governance.audit.models import AuditLine
from governance.catalogue import actions as catalogue
from governance.catalogue.models import Cluster, NodeState
from governance.errors import N_, BadData, NotTheMoment
from governance.usage import actions as usage
from portal.demo.company import TIME_ZONE
from portal.demo.plan import DemoArguments, DemoPlan, generate
from portal.embedded import demo_password
from portal.management import demo_asks, demo_quotas, demo_reclaim
from portal.management.terminal import TerminalCommand, a_day, steps_bar
from portal.organisation.actions import load

BEGUN, MADE = "demo.begun", "demo.made"
ARGUMENTS = ("gpus", "months", "until", "seed", "runs_per_day")


class Command(TerminalCommand):
    """`demo`: an empty installation gets a company with half a year of records; an interrupted making goes on."""

    help = "Make the demo company: invented records that go through the ordinary doors."
    actor = Actor.machine("demo")

    def add_arguments(self, parser: CommandParser) -> None:
        """All have defaults; the same ones give the same figures."""
        super().add_arguments(parser)
        parser.add_argument("--gpus", type=int, help="cards in all pools together (default: 1024)")
        parser.add_argument("--months", type=int, help="months of records (default: 6)")
        parser.add_argument("--until", type=a_day, metavar="DAY", help="last day with records (default: yesterday)")
        parser.add_argument("--seed", type=int, help="another seed, another company (default: 1)")
        parser.add_argument("--runs-per-day", type=int, help="records a day on average (default: 900)")
        parser.add_argument("--folder", type=Path, help="keep the files here (default: a temporary folder)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make it; refuses where there is something else already."""
        given = {name: options[name] for name in ARGUMENTS if options[name] is not None}
        arguments, made = wanted(given)
        say = (lambda words: None) if options["as_json"] else self.stdout.write
        if made:
            say(_("The demo company is here already. Nothing was changed."))
        else:
            with kept_or_temporary(options["folder"]) as folder:
                Making(generate(arguments), folder, self.actor, say).run()
        if options["as_json"]:
            self.answer({**asdict(arguments), "made": not made})


def wanted(given: dict[str, Any]) -> tuple[DemoArguments, bool]:
    """The arguments of the demo, and whether it is made already.

    A making that was interrupted goes on with the arguments it began with. Raises NotTheMoment where the installation
    holds something else, BadData where an argument is out of range.
    """
    lines = AuditLine.objects.filter(object_kind="demo")
    begun = lines.filter(action=BEGUN).order_by("-id").first()
    if begun is None:
        if Cluster.objects.exists():
            raise NotTheMoment(N_("This installation has clusters already; the demo company needs an empty one."))
        yesterday = datetime.now(ZoneInfo(TIME_ZONE)).date() - timedelta(days=1)
        try:
            return DemoArguments(**{"until": yesterday, **given}), False
        except ValueError as fault:
            raise BadData(N_("The demo cannot be made so: %(fault)s."), fault=str(fault)) from fault
    recorded: dict[str, Any] = begun.after or {}
    before = {**recorded, "until": date.fromisoformat(recorded["until"])}
    if differing := [name for name, value in given.items() if before[name] != value]:
        raise NotTheMoment(
            N_("The demo company was begun with other values of %(names)s. Another one needs an empty installation."),
            names=", ".join(f"--{name.replace('_', '-')}" for name in differing),
        )
    return DemoArguments(**before), lines.filter(action=MADE).exists()


@contextmanager
def kept_or_temporary(folder: Path | None) -> Iterator[Path]:
    """The folder asked for, made if need be, or one that goes away afterwards."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with nullcontext(folder) if folder else tempfile.TemporaryDirectory(prefix="steelyard-demo-") as chosen:
        yield Path(chosen)


class Making:
    """The steps from nothing to a posted ledger. Each may run twice: the doors they use see to that."""

    def __init__(self, plan: DemoPlan, folder: Path, actor: Actor, say: Callable[[str], Any]) -> None:
        self.plan = plan
        self.folder = folder
        self.actor = actor
        self.say = say

    def run(self) -> None:
        """All steps in order."""
        self._mark(BEGUN)
        paths = {cluster: self._write(cluster) for cluster in self.plan.clusters}
        self._load()
        self._set_states()
        for cluster, files in paths.items():
            self._import(cluster, files)
            self._meter(cluster)
        with self._step(_("Quotas awarded")) as progress:
            demo_quotas.give(self.plan, actor=self.actor, progress=progress)
        with self._step(_("Asks and reclaim cases made")):
            demo_asks.make(self.plan)
            demo_reclaim.make(actor=self.actor)
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
            load(yaml.safe_load(text), actor=self.actor)
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
                        from_at,
                        None if outage.to_at is None else datetime.fromtimestamp(outage.to_at, UTC),
                        outage.reason,
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
        with steps_bar(title) as progress:
            yield progress
        self.say(f"{title} · {monotonic() - began:.1f} s")
