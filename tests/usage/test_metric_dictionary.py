"""The metric dictionary: in both languages, versioned, never changed, and behind every figure of the ledger."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import translation

from billing.ledger import published
from billing.ledger.statement import Exceptions, Sums
from governance.access.actor import Actor
from governance.audit.models import AuditLine
from governance.errors import BadData, NotAllowed, NotFound
from governance.usage.metrics import figures
from governance.usage.metrics.actions import sync_dictionary
from governance.usage.metrics.entries import Entry, latest, read_entries
from governance.usage.metrics.reads import definition, definitions
from governance.usage.models import CapacityDay, MetricDefinition, UsageDay

MACHINE = Actor.machine("test")
#: Terms whose meaning is disputed between a platform and its users; each is fixed by an entry.
DISPUTED = [
    "allocation_rate",
    "effective_utilisation",
    "submission_success",
    "start_success",
    "run_success",
    "idle_card",
    "queue_loss",
    "waste_class",
    "failed_cost",
    "preempted_work",
    "borrowed",
    "holding_charge",
    "shared_cost",
    "slice",
    "exclusive_node",
    "reservation",
    "maintenance",
    "inference_service",
    "notebook",
    "off_peak",
    "storage",
    "user_and_project",
    "payer_shares",
    "internal_price",
    "budget_year",
    "depreciation",
    "compensation",
    "late_outcome",
]
CJK = range(0x4E00, 0xA000)


def has_chinese(text: str) -> bool:
    return any(ord(sign) in CJK for sign in text)


def written(folder: Path, text: str) -> list[Entry]:
    file = folder / "dictionary.yaml"
    file.write_text(text, encoding="utf-8")
    return read_entries(file)


@pytest.mark.parametrize("entry", read_entries(), ids=lambda entry: f"{entry.code}-{entry.version}")
def test_every_entry_is_said_in_both_languages(entry: Entry) -> None:
    assert has_chinese(entry.name_zh) and has_chinese(entry.formula_zh)
    assert entry.name_en and not has_chinese(entry.name_en + entry.formula_en + entry.option_en)
    assert bool(entry.option_zh) == bool(entry.option_en)
    assert entry.unit and entry.window


def test_every_disputed_term_has_an_entry() -> None:
    assert set(DISPUTED) <= latest(read_entries()).keys()


def test_every_figure_of_the_ledger_stands_on_an_entry() -> None:
    shown = published.figures(Sums()).keys() | published.exceptions(Exceptions()).keys()
    assert shown == figures.ROW_FIGURES.keys() | figures.EXCEPTION_FIGURES.keys()
    assert set(figures.FIGURES.values()) <= latest(read_entries()).keys()


def test_every_quantity_of_the_facts_stands_on_an_entry() -> None:
    columns = {
        f.name
        for model in (UsageDay, CapacityDay)
        for f in model._meta.fields
        if f.get_internal_type() == "BigIntegerField"
    }
    part_of_another = {"cpu_only_cpu_seconds", "cpu_only_memory_mib_seconds"}  # what CPU prices apply to
    assert columns - part_of_another <= figures.FIGURES.keys()


def test_a_source_names_columns_that_exist() -> None:
    with_columns = {model._meta.db_table: {f.column for f in model._meta.fields} for model in (UsageDay, CapacityDay)}
    for entry in read_entries():
        for word in entry.source.replace(",", " ").split():
            table, _, column = word.partition(".")
            if table in with_columns and column:
                assert column in with_columns[table], entry.code


def test_names_are_not_given_twice() -> None:
    entries = latest(read_entries()).values()
    assert len({entry.name_zh for entry in entries}) == len({entry.name_en for entry in entries}) == len(entries)


@pytest.mark.django_db
def test_a_new_database_holds_the_dictionary_of_its_release() -> None:
    there = {(row.code, row.version) for row in MetricDefinition.objects.all()}
    assert there == {(entry.code, entry.version) for entry in read_entries()}
    assert AuditLine.objects.filter(action="metrics.added", actor="migrate").exists()


@pytest.mark.django_db
def test_bringing_the_same_dictionary_again_adds_nothing_and_says_nothing() -> None:
    lines = AuditLine.objects.count()
    assert sync_dictionary(MACHINE) == []
    assert AuditLine.objects.count() == lines


@pytest.mark.django_db
def test_a_change_is_a_new_version_and_the_old_one_stays() -> None:
    old = latest(read_entries())["allocation_rate"]
    new = replace(
        old, version=2, formula_zh="已分配÷在册。", formula_en="Allocated ÷ installed.", denominator="installed"
    )
    assert sync_dictionary(MACHINE, [*read_entries(), new]) == [new]
    assert definition("allocation_rate").denominator == "installed"
    assert definition("allocation_rate", 1).denominator == "available"
    assert [row.version for row in definitions() if row.code == "allocation_rate"] == [2]


@pytest.mark.django_db
@pytest.mark.parametrize("field", [f.name for f in fields(Entry) if f.name not in {"code", "version"}])
def test_a_changed_text_under_an_unchanged_version_is_refused(field: str) -> None:
    entries = read_entries()
    other: Any = ("finance",) if field == "signed_by" else "something else"
    entries[0] = replace(entries[0], **{field: other})
    with pytest.raises(BadData, match=f"Version 1 of the metric “gpu_hours” .*{field}.* add version 2"):
        sync_dictionary(MACHINE, entries)


@pytest.mark.django_db
def test_nobody_without_the_right_adds_to_the_dictionary() -> None:
    with pytest.raises(NotAllowed):
        sync_dictionary(Actor.anonymous())


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    ["UPDATE metric_definition SET unit = 'x'", "DELETE FROM metric_definition", "TRUNCATE metric_definition"],
)
def test_the_database_keeps_published_definitions(statement: str) -> None:
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


GOOD = """
- {code: a, version: 1, name: {zh: 甲, en: A}, formula: {zh: 甲乙, en: A B}, unit: run, window: day}
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("version: 1", "version: 2"), "version 2 where version 1 should come"),
        (GOOD + GOOD, "version 1 where version 2 should come"),
        (GOOD.replace("name: {zh: 甲, en: A}", "name: {zh: 甲}"), "needs its name in Chinese and in English"),
        (GOOD.replace("unit: run", "unit: furlong"), "names “furlong”"),
        (GOOD.replace("unit: run", "unit: run, denominator: b"), "names “b”"),
        (GOOD.replace("unit: run", "units: run"), "keys that are not known: units"),
    ],
)
def test_a_dictionary_that_breaks_its_own_rules_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadData, match=words):
        written(tmp_path, text)


def told(*arguments: str) -> str:
    out = StringIO()
    call_command("metrics", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_the_command_tells_an_entry_in_the_operators_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_LANGUAGE", "en")
    assert "Allocated ÷ available" in told("allocation_rate")
    assert "not computed yet" in told("allocation_rate") and "usage_day.milligpu_seconds" in told("gpu_hours")
    monkeypatch.setenv("STEELYARD_LANGUAGE", "zh-hans")
    assert "已分配÷可调度" in told("allocation_rate")


@pytest.mark.django_db
def test_the_command_answers_json() -> None:
    one = json.loads(told("gpu_hours", "--json"))
    assert (one["code"], one["version"], one["name_zh"], one["signed_by"]) == ("gpu_hours", 1, "卡时", [])
    assert len(json.loads(told("--json"))) == len(latest(read_entries()))


@pytest.mark.django_db
@pytest.mark.parametrize("arguments", [["furlongs"], ["gpu_hours", "--edition", "7"]])
def test_the_command_says_what_is_not_there(arguments: list[str]) -> None:
    with translation.override("en"), pytest.raises(CommandError):
        told(*arguments)
    with pytest.raises(NotFound):
        definition(arguments[0], 7)
