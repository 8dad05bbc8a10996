"""The two commands: plan in a table or JSON, words and status 1 for what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from jsonschema import Draft202012Validator

from governance.tenants.models import Department

from .conftest import SMALL

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def english(monkeypatch):
    """The operator reads English, on a wide terminal."""
    monkeypatch.setenv("STEELYARD_LANGUAGE", "en")
    monkeypatch.setenv("COLUMNS", "240")


def run(*arguments: str) -> str:
    """What a command prints."""
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_a_dry_run_prints_the_plan_and_the_second_load_has_nothing_to_do():
    shown = run("load_organisation", str(SMALL), "--dry-run")
    assert "east/n[01-12]/big" in shown and "aliases: [big-80]" in shown and "Dry run: nothing was written." in shown
    assert not Department.objects.exists()
    assert "Written." in run("load_organisation", str(SMALL))
    assert "Nothing to change" in run("load_organisation", str(SMALL))


def test_the_plan_as_json():
    plan = json.loads(run("load_organisation", str(SMALL), "--json"))
    assert plan["dry_run"] is False and plan["counts"]["change"] == 1  # the bands
    assert {"verb", "kind", "key", "before", "after"} == set(plan["changes"][0])
    assert {"cluster": "east", "from": None, "to": None} in plan["consequences"]["usage"]


def test_what_is_dumped_loads_again(tmp_path: Path):
    run("load_organisation", str(SMALL))
    run("dump_organisation", str(tmp_path / "out.yaml"))
    assert (tmp_path / "out.yaml").read_text("utf-8") == run("dump_organisation")
    assert "Nothing to change" in run("load_organisation", str(tmp_path / "out.yaml"))


def test_standard_input_is_read(monkeypatch):
    class Given:
        buffer = io.BytesIO(b"steelyard: 1\ndepartments: [{code: one}]\n")

    monkeypatch.setattr("sys.stdin", Given)
    run("load_organisation", "-")
    assert Department.objects.get().code == "one"


def test_pruning_needs_a_day_and_a_day_needs_pruning():
    for given in (["--prune"], ["--on", "2026-04-01"]):
        with pytest.raises(CommandError, match="belong together"):
            run("load_organisation", str(SMALL), *given)


def test_pruning_on_a_day(tmp_path: Path):
    run("load_organisation", str(SMALL))
    less = tmp_path / "less.yaml"
    less.write_text("steelyard: 1\nprices: [{cpu_core_hour: '0.08', memory_gib_hour: '0.01'}]\n", "utf-8")
    shown = json.loads(run("load_organisation", str(less), "--prune", "--on", "2026-04-01", "--json"))
    assert shown["counts"] == {"add": 0, "change": 0, "end": 2, "remove": 1}
    assert shown["consequences"]["money"] == [{"from": "2026-04-01", "to": None}]


def test_every_fault_is_printed_and_the_status_is_one(tmp_path: Path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("steelyard: 1\nmappings:\n  - {cluster: a, project: b}\n", "utf-8")
    with pytest.raises(CommandError) as fault:
        run("load_organisation", str(bad))
    assert fault.value.returncode == 1
    assert str(fault.value).splitlines()[1:] == [
        "mappings[0].cluster (line 3): no cluster has the code “a”.",
        "mappings[0].project (line 3): no project has the code “b”.",
    ]


@pytest.mark.parametrize(
    "content", [b"", b"\0\1\2", b"\xff\xfe", b"a: [", b"- 1"], ids=["empty", "binary", "latin", "cut", "list"]
)
def test_a_file_that_is_none_is_refused(content, tmp_path: Path):
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(content)
    with pytest.raises(CommandError):
        run("load_organisation", str(bad))
    assert not Department.objects.exists()


def test_a_directory_is_refused(tmp_path: Path):
    with pytest.raises(CommandError, match="is a directory, not a file"):
        run("load_organisation", str(tmp_path))
    with pytest.raises(CommandError, match="cannot be written"):
        run("dump_organisation", str(tmp_path))


def test_the_schema_is_published_and_sound():
    schema = json.loads(run("load_organisation", "--schema"))
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
