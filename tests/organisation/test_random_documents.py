"""Random organisations: twice changes nothing, any one turns into any other, and the dump says it all again."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governance.catalogue.intervals import Interval, changed_days, clashes, in_order, merged
from portal.organisation import state
from portal.organisation.actions import load
from portal.organisation.document import Document, read
from portal.organisation.dump import dump
from portal.organisation.wanted import rows_of

FIRST = date(2026, 1, 1)
DAYS = st.integers(0, 40).map(lambda n: FIRST + timedelta(days=n))
NAMES = st.one_of(
    st.text("算力a b'\"#:,-{}[]*&!0", max_size=8), st.fixed_dictionaries({"zh": st.text("中文甲", min_size=1)})
)
PRICES = st.decimals(0, 999, places=6).map(str)
several = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def dated(draw: st.DrawFn, row: st.SearchStrategy[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows on some stretches of days that never overlap; the first and last bound may be open."""
    cuts: list[date | None] = list(draw(st.lists(DAYS, min_size=2, max_size=5, unique=True).map(sorted)))
    if draw(st.booleans()):
        cuts[0] = None
    if draw(st.booleans()):
        cuts[-1] = None
    found = []
    for low, high in zip(cuts, cuts[1:], strict=False):
        if not found or draw(st.booleans()):
            days = {word: day for word, day in (("from", low), ("to", high)) if day is not None}
            found.append({**draw(row), **days})
    return found


@st.composite
def organisations(draw: st.DrawFn) -> dict[str, Any]:
    """A valid document over a small set of codes, so that two of them have much in common."""
    departments = ["d1", "d2", "d3"]
    tree = [{"code": "d1", "name": draw(NAMES)}]
    tree += [{"code": f"d{n}", "parent": draw(st.sampled_from(departments[: n - 1]))} for n in (2, 3)]
    shares = st.sampled_from([{}, {"payers": {"d1": 70, "d2": 30}}, {"payers": {"d3": "33.3333", "d1": "66.6667"}}])
    home = st.builds(lambda code, payers: {"department": code, **payers}, st.sampled_from(departments), shares)
    projects = [{"code": code, "name": draw(NAMES), "placements": draw(dated(home))} for code in ("p1", "p2")]
    project = st.sampled_from(["p1", "p2"]).map(lambda code: {"project": code})
    patterns = draw(
        st.lists(st.tuples(st.sampled_from("a*"), st.sampled_from("u*"), st.sampled_from("q*")), unique=True)
    )
    mappings = [
        {"cluster": "c", "account": a, "user": u, "qos": q, **row}
        for a, u, q in patterns
        for row in draw(dated(project))
    ]
    keys = draw(st.lists(st.tuples(st.sampled_from(["*", "pool"]), st.sampled_from(["*", "m"])), unique=True))
    price = st.fixed_dictionaries({"gpu_hour": PRICES}, optional={"cpu_core_hour": PRICES})
    prices = [{"pool": pool, "accelerator": model, **row} for pool, model in keys for row in draw(dated(price))]
    term = st.fixed_dictionaries(
        {"pool": st.just("pool"), "accelerator": st.just("m"), "accelerators": st.integers(0, 8)}
    )
    nodes = [{"names": names, **row} for names in ("n[1-3]", "n4,x") for row in draw(dated(term))]
    roles = [{"role": "lead", "project": "p1", **row} for row in draw(dated(st.just({})))]
    return {
        "steelyard": 1,
        "departments": tree,
        "projects": projects,
        "people": [{"username": "one", "display_name": draw(NAMES), "roles": roles}],
        "accelerators": [
            {"code": "m", "name": draw(st.text("m 8", max_size=5)), "aliases": draw(st.sampled_from([[], ["mm"]]))}
        ],
        "clusters": [{"code": "c", "pools": [{"code": "pool", "partitions": ["*"]}], "nodes": nodes}],
        "mappings": mappings,
        "prices": prices,
    }


def promises_hold() -> None:
    """Have the deferred triggers speak now."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


@pytest.mark.django_db
@several
@given(content=organisations())
def test_any_organisation_loads_once_and_a_second_time_changes_nothing(content, machine):
    start = transaction.savepoint()
    assert load(content, actor=machine).changes
    assert load(content, actor=machine).changes == []
    promises_hold()
    text = dump(actor=machine)
    assert load(read(text), actor=machine).changes == []
    transaction.savepoint_rollback(start)
    load(read(text), actor=machine)
    assert dump(actor=machine) == text
    transaction.savepoint_rollback(start)


@pytest.mark.django_db
@several
@given(one=organisations(), other=organisations())
def test_any_organisation_turns_into_any_other_by_key(one, other, machine):
    start = transaction.savepoint()
    load(one, actor=machine)
    load(other, actor=machine)
    promises_hold()
    now, wanted, was = state.current(), rows_of(Document.of(other)), rows_of(Document.of(one))
    for kind, rows in now.dated.items():
        for key, days in rows.items():
            told = wanted.dated.get(kind, {}).get(key) or was.dated[kind][key]
            assert days == in_order(told)
    transaction.savepoint_rollback(start)


SPANS = st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda span: span[0] < span[1])


def day(number: int) -> date:
    """A day by number."""
    return FIRST + timedelta(days=number)


@given(spans=st.lists(SPANS, max_size=6))
def test_clashes_are_found_exactly_where_two_spans_share_a_day(spans):
    shared = any(a < d and c < b for i, (a, b) in enumerate(spans) for c, d in spans[i + 1 :])
    assert bool(clashes([(day(low), day(high)) for low, high in spans])) == shared


@given(
    before=st.lists(st.tuples(SPANS, st.booleans()), max_size=3),
    after=st.lists(st.tuples(SPANS, st.booleans()), max_size=3),
)
def test_changed_days_are_the_days_that_say_something_else(before, after):
    def on(rows: list[Any], number: int) -> list[bool]:
        return sorted(value for (low, high), value in rows if low <= number < high)

    def intervals(rows: list[Any]) -> list[Interval]:
        return sorted(
            (Interval(day(low), day(high), {"value": value}) for (low, high), value in rows),
            key=lambda one: one.values["value"],
        )

    spans = changed_days(intervals(before), intervals(after))
    for number in range(-1, 14):
        inside = any(
            (low is None or low <= day(number)) and (high is None or day(number) < high) for low, high in spans
        )
        assert inside == (on(before, number) != on(after, number))
    assert merged(spans) == spans
