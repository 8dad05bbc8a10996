"""A company with quotas in every state, terms of its pool, and a few days of use up to yesterday, for pages and doors."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from governance.quotas import actions, pool_terms
from governance.quotas.actions import Terms
from governance.quotas.models import Quota
from governance.quotas.pool_terms import Offer
from governance.tenants.models import day_of_today
from tests.books import MACHINE, bring, line, settle

POOL = "train-h800"


def day(n: int):
    """So many days from today."""
    return day_of_today() + timedelta(days=n)


def lay(project: str, gpus: int, low: int, high: int | None, **other) -> Quota:
    """A quota of the training pool on days from today, laid without regard to room."""
    values = {"guaranteed_gpus": gpus, "ceiling_gpus": max(gpus, 8), **other}
    terms = Terms(project=project, pool=POOL, from_on=day(low), to_on=None if high is None else day(high), **values)
    return actions.lay(terms, actor=MACHINE, note="for the test", override="laid out as it is")


def lay_out() -> dict[str, Quota]:
    """Quotas by what they show; `foreign` belongs to the other department."""
    found = {
        "active": lay("ocr", 16, -40, 10, ceiling_gpus=24, gpu_hours=9000, model="h800"),
        "suspended": lay("ocr", 4, -20, 60, level="urgent"),
        "elastic": lay("ocr", 0, -20, None, level="elastic"),
        "grace": lay("ocr", 2, -30, -1),
        "scheduled": lay("ocr", 2, 20, 80),
        "foreign": lay("rank", 8, -40, 300, ceiling_gpus=12),
    }
    actions.suspend(found["suspended"].number, from_on=day(-2), to_on=None, reason="under review", actor=MACHINE)
    Quota.objects.filter(pk=found["grace"].pk).update(grace_days=5)
    pool_terms.offer(
        Offer(
            "train", POOL, "normal", name_zh="训练", name_en="Training", max_gpus=64, max_wall_s=259_200, min_run_s=3600
        ),
        actor=MACHINE,
    )
    pool_terms.offer(Offer("train-low", POOL, "low", level="elastic", min_run_s=1800), actor=MACHINE)
    pool_terms.offer(
        Offer("train-search", POOL, "urgent", level="urgent", name_en="Search only", departments=("search",)),
        actor=MACHINE,
    )
    pool_terms.set_queue_rule(POOL, "urgent", from_on=None, priority=10, preempts=["elastic"], actor=MACHINE)
    pool_terms.set_queue_rule(POOL, "normal", from_on=None, priority=5, preempts=["elastic"], actor=MACHINE)
    pool_terms.set_queue_rule(POOL, "elastic", from_on=None, pool_share_percent=50, actor=MACHINE)
    pool_terms.set_policy(POOL, "reserve", factor="1.5", from_on=None, actor=MACHINE)
    return found


def use(folder: Path) -> None:
    """Two days of use up to yesterday: ocr 12 GPUs under normal and 4 under low, rank 14 under normal."""
    start, end = f"{day(-2)}T00:00", f"{day(0)}T00:00"
    rows = [
        line(901, start, start, end, gpus=12),
        line(902, start, start, end, gpus=4, QOS="low", NodeList="gpu002"),
        line(903, start, start, end, gpus=14, Account="rank", User="eve", NodeList="gpu[002-003]"),
    ]
    bring(folder, rows, observed_at=f"{day(0)}T00:05")
    settle()
