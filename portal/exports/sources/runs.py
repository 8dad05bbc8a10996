"""Runs: those behind a figure, streamed in the order of their submit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from billing.ledger.pages import WORDS
from governance.access.actor import Actor
from governance.usage import run_stream
from governance.usage.reads import RunUse
from governance.usage.views import FILTERS, OUTCOMES, UNKNOWN_OUTCOME, wait_seconds

from ..table import Column, Form, Table, Value
from .asked import Asked, days, filters_in_words, only, with_days

COLUMNS = (
    Column("cluster", WORDS["cluster"]),
    Column("job_id", gettext_lazy("Job id")),
    Column("label", gettext_lazy("Job")),
    Column("submit_at", gettext_lazy("Submitted"), Form.INSTANT),
    Column("job_name", gettext_lazy("Job name")),
    Column("user", WORDS["user"]),
    Column("account", WORDS["account"]),
    Column("partition", gettext_lazy("Partition")),
    Column("qos", WORDS["qos"]),
    Column("start_at", gettext_lazy("Started"), Form.INSTANT),
    Column("end_at", gettext_lazy("Ended"), Form.INSTANT),
    Column("outcome", WORDS["outcome"]),
    Column("gpus", gettext_lazy("GPUs"), Form.HOURS),
    Column("wait_hours", gettext_lazy("Wait (hours)"), Form.HOURS),
    Column("gpu_hours", gettext_lazy("GPU time in the days (GPU-hours)"), Form.HOURS),
)
KNOWN = ("from", "to", *FILTERS)
FOUR = Decimal("0.0001")


def settled(asked: Asked, actor: Actor) -> dict[str, str]:
    """With its days written out."""
    return with_days(only({k: v for k, v in asked.items() if v or k in FILTERS}, KNOWN))


def runs(asked: Asked, actor: Actor) -> Table:
    """The runs that used something in the days, as far as the actor may see them."""
    first_on, last_on = days(asked)
    filters = {name: asked[name] for name in FILTERS if name in asked}

    def rows() -> Iterator[Sequence[Value] | None]:
        for use in run_stream.stream(first_on, last_on, actor=actor, **filters):
            yield None if use is None else _row(use)

    return Table(
        name=f"jobs-{first_on}-{last_on}",
        title=_("Jobs"),
        columns=COLUMNS,
        rows=rows,
        steps=lambda: run_stream.looked_at(first_on, last_on, actor=actor, **filters),
        filters=[(_("Days"), f"{first_on} – {last_on}"), *filters_in_words(filters)],
        metrics=("gpu_hours",),
    )


def _row(use: RunUse) -> list[Value]:
    run = use.run
    wait = wait_seconds(run)
    outcome = str(OUTCOMES.get(run.outcome, UNKNOWN_OUTCOME).word)
    who: list[Value] = [run.job_name, run.user, run.account, run.partition, run.qos]
    gpus = None if run.gpu_milli is None else Decimal(run.gpu_milli) / 1000
    waited = None if wait is None else (Decimal(wait) / 3600).quantize(FOUR)
    figures = [gpus, waited, (Decimal(use.milligpu_seconds) / 3_600_000).quantize(FOUR)]
    return [use.cluster, run.job_id, run.label, run.submit_at, *who, run.start_at, run.end_at, outcome, *figures]
