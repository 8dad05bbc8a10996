"""Whatever the order, splitting and repetition of the records: the same natural content. Random runs: the identities hold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from billing.ledger.checks import ledger_checks
from billing.ledger.models import Entry, Period
from governance.catalogue.models import Node, NodeState
from governance.usage.checks import usage_checks
from governance.usage.models import CapacityDay, UsageDay
from tests.books import bring, declare, line, settle
from tests.natural import content

START = datetime(2026, 3, 1, tzinfo=UTC)
few = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


def moment(minutes: int) -> str:
    return (START + timedelta(minutes=minutes)).isoformat()


@st.composite
def attempts(draw: Any) -> list[dict[str, str]]:
    """One attempt of a job as it looks at up to three observations: pending, running, ended; each observation is a record."""
    job, submit = draw(st.integers(1, 4)), draw(st.integers(0, 3000))
    start = submit + draw(st.integers(0, 600))
    end = start + draw(st.integers(0, 4000))
    shape = {
        "gpus": draw(st.sampled_from([0, 1, 4, 8, None])),
        "Account": draw(st.sampled_from(["ocr", "rank", "stray"])),
        "QOS": draw(st.sampled_from(["normal", "low"])),
        "kind": draw(st.sampled_from(["", "h800"])),
    }
    if shape["gpus"] in (0, None):
        shape["kind"] = ""
    found = []
    if draw(st.booleans()):
        found.append((submit, line(job, moment(submit), None, None, **shape)))
    for seen in draw(st.lists(st.integers(start, end), max_size=2)):
        record = line(job, moment(submit), moment(start), None, **shape)
        found.append((seen, {**record, "ElapsedRaw": str((seen - start) * 60)}))
    if draw(st.booleans()):
        state = draw(st.sampled_from(["COMPLETED", "FAILED", "CANCELLED by 1001", "NODE_FAIL"]))
        record = line(job, moment(submit), moment(start), moment(end), State=state, **shape)
        if draw(st.booleans()):
            record = {**record, "Submit": "Unknown", "Eligible": "Unknown"}
        found.append((end, record))
    return [{**record, "seen": moment(seen)} for seen, record in found]


def tells_attempts_apart(lists: list[list[dict[str, str]]]) -> bool:
    """Whether no instant of one attempt of a job is another attempt's too, as no scheduler starts or queues a job twice in a second.

    A record without a submit time is known by its start alone, so that two attempts with one start cannot be told apart.
    """
    seen: set[tuple[str, str]] = set()
    for found in lists:
        mine = {(r["JobIDRaw"], r[name]) for r in found for name in ("Submit", "Start") if r[name] != "Unknown"}
        if mine & seen:
            return False
        seen |= mine
    return True


records = (
    st.lists(attempts(), min_size=1, max_size=8)
    .filter(tells_attempts_apart)
    .map(lambda lists: [record for found in lists for record in found])
)


class _Undo(Exception):
    pass


@pytest.fixture(scope="module", autouse=True)
def company(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The company is declared once: no example changes it but within its own savepoint."""
    with django_db_blocker.unblock(), transaction.atomic():
        declare()
        yield
        transaction.set_rollback(True)


def in_fresh_books(work: Any) -> Any:
    """Do it in the company's empty books and leave nothing behind."""
    found: list[Any] = []
    try:
        with transaction.atomic(), tempfile.TemporaryDirectory() as folder:
            found.append(work(Path(folder)))
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            raise _Undo
    except _Undo:
        return found[0]


def bring_each(folder: Path, rows: list[dict[str, str]]) -> None:
    for row in rows:
        bring(folder, [{k: v for k, v in row.items() if k != "seen"}], observed_at=row["seen"])


@pytest.mark.django_db
@few
@given(rows=records, data=st.data())
def test_any_shuffle_split_and_repetition_gives_the_same_content(rows, data):
    shuffled = data.draw(st.permutations(rows))
    repeated = shuffled + data.draw(st.lists(st.sampled_from(rows), max_size=4) if rows else st.just([]))
    cut = data.draw(st.integers(0, len(repeated)))

    def straight(folder: Path) -> Any:
        bring_each(folder, rows)
        settle()
        return content("runs", "facts", "capacity", "balances")

    def otherwise(folder: Path) -> Any:
        bring_each(folder, repeated[:cut])
        settle()
        bring_each(folder, repeated[cut:])
        settle()
        return content("runs", "facts", "capacity", "balances")

    assert in_fresh_books(straight) == in_fresh_books(otherwise)


@pytest.mark.django_db
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 0), (1, 0, 1)])
@pytest.mark.parametrize("together", [True, False])
def test_a_submit_once_told_stays_known_whatever_the_order(order, together, tmp_path):
    """The queue told the submit time; the record of its end, which has none, starts in that very second and is the better record."""
    pending = {**line(1, moment(0), None, None), "seen": moment(0)}
    ended = {**line(1, moment(0), moment(0), moment(0)), "Submit": "Unknown", "Eligible": "Unknown", "seen": moment(0)}

    def work(folder: Path) -> Any:
        rows = [(pending, ended)[n] for n in order]
        if together:
            bring(folder, [{k: v for k, v in row.items() if k != "seen"} for row in rows], observed_at=moment(0))
        else:
            bring_each(folder, rows)
        return content("runs")

    ((_, job, submit, known, *_),) = in_fresh_books(work)["runs"]
    assert (job, submit, known) == ("1", START, True)


@pytest.mark.django_db
@few
@given(
    rows=records,
    down=st.lists(
        st.tuples(st.sampled_from([1, 2, 3, 4]), st.integers(0, 2000), st.integers(1, 3000)),
        max_size=3,
        unique_by=lambda d: d[0],
    ),
)
def test_random_runs_and_capacities_keep_the_identities_or_report_the_fault_exactly(rows, down):
    def work(folder: Path) -> None:
        for node, at, length in down:
            states = {
                "state": "down",
                "from_at": START + timedelta(minutes=at),
                "to_at": START + timedelta(minutes=at + length),
            }
            NodeState.objects.create(node=Node.objects.get(name=f"gpu{node:03}"), **states)
        bring_each(folder, rows)
        settle()
        assert [check.identity for check in (*usage_checks(), *ledger_checks()) if not check.holds] == []
        for day in CapacityDay.objects.all():
            available = day.installed - day.down - day.drained - day.reserved
            assert day.over == max(day.allocated - available, 0)
            assert bool(day.cause) == (day.over > 0)

    in_fresh_books(work)


mappings = st.lists(
    st.tuples(st.sampled_from(["ocr", "rank", "stray", "*"]), st.sampled_from(["ocr", "rank"]), st.integers(1, 4)),
    max_size=3,
    unique_by=lambda m: m[0],
)
prices = st.lists(
    st.tuples(st.sampled_from(["*", "normal", "low"]), st.integers(0, 2000), st.integers(1, 4)),
    max_size=3,
    unique_by=lambda p: p[0],
)


@pytest.mark.django_db
@few
@given(rows=records, remapped=mappings, repriced=prices, closed=st.booleans())
def test_random_remaps_and_price_changes_post_only_differences(rows, remapped, repriced, closed):
    def changed() -> dict[str, Any]:
        return {
            "mappings": [
                {"cluster": "bj", "account": a, "project": p, "from": date(2026, 3, d)} for a, p, d in remapped
            ],
            "prices": [
                {
                    "pool": "train-h800",
                    "accelerator": "h800",
                    "qos": q,
                    "from": date(2026, 3, d),
                    "gpu_hour": f"{c}.{c:03}",
                }
                for q, c, d in repriced
            ],
        }

    def in_two_steps(folder: Path) -> Any:
        bring_each(folder, rows)
        settle()
        if closed:
            Period.objects.update(state="closed")
        before = Entry.objects.count()
        declare(**changed())
        settle()
        for entry in Entry.objects.order_by("pk")[before:]:
            assert entry.kind == "correction" or entry.revision == 1
            assert not closed or entry.period.state == "open"
        settled = Entry.objects.count()
        settle()
        assert Entry.objects.count() == settled
        assert [check.identity for check in (*usage_checks(), *ledger_checks()) if not check.holds] == []
        return content("facts", "balances")

    def at_once(folder: Path) -> Any:
        declare(**changed())
        bring_each(folder, rows)
        settle()
        return content("facts", "balances")

    assert in_fresh_books(in_two_steps) == in_fresh_books(at_once)


@pytest.mark.django_db
def test_the_generator_of_records_reaches_facts(tmp_path):
    declare()
    bring_each(tmp_path, [{**line(1, moment(0), moment(10), moment(70)), "seen": moment(70)}])
    settle()
    assert UsageDay.objects.exists()
