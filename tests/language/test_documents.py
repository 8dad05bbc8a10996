"""What the documents say is what the code does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

from governance.access.rules import CAPABILITIES, Role
from governance.schedulers.records import Flag
from governance.schedulers.slurm.states import STATUSES
from governance.usage import wording

ROOT = Path(settings.BASE_DIR)


def documents() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def table(text: str, heading: str) -> list[list[str]]:
    """Rows of the table whose first header cell is `heading`."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(f"| {heading} |"):
            break
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


@pytest.mark.parametrize("path", documents(), ids=named)
def test_every_link_within_the_project_leads_somewhere(path: Path) -> None:
    for target in re.findall(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)", path.read_text("utf-8")):
        if not target.startswith("https://"):
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", documents(), ids=named)
def test_every_command_and_option_that_is_named_exists(path: Path) -> None:
    known = get_commands()
    text = path.read_text("utf-8").replace("\\\n", "")
    for command, rest in re.findall(r"\bmanage(?:\.py)? ([a-z_]+)([^\n`|#]*)", text):
        assert command in known, command
        parser = load_command_class(known[command], command).create_parser("manage.py", command)
        for option in re.findall(r"(?<!\S)\[?(--[a-z-]+)", rest):
            assert option in parser._option_string_actions, f"{command} {option}"


#: What reads accounting records, from files.py down.
READERS = ("json_records", "lines", "record", "states", "text", "times", "tres")


def quarantine_codes() -> set[str]:
    """The code of every record fault and bad record in the readers and the import."""
    found = {wording.OTHER_CLUSTER, wording.OUT_OF_RANGE}
    for path in (ROOT / f"governance/schedulers/slurm/{name}.py" for name in READERS):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                place = {"RecordFault": 0, "bad": 1}.get(node.func.id)
                given = node.args[place] if place is not None and len(node.args) > place else None
                if isinstance(given, ast.Constant):
                    found.add(str(given.value))
    return found


def test_every_code_of_quarantine_says_what_to_do() -> None:
    rows = table((ROOT / "docs/records.md").read_text("utf-8"), "code")
    assert {code for row in rows for code in re.findall(r"`(\w+)`", row[0])} == quarantine_codes()
    assert all(row[2] for row in rows)


def test_every_finding_is_documented() -> None:
    text = (ROOT / "docs/records.md").read_text("utf-8")
    findings = {value for name, value in vars(Flag).items() if name.isupper()}
    assert findings <= set(re.findall(r"`(\w+)`", text))


def outcomes() -> Iterator[tuple[str, str]]:
    for outcome, states in (
        row for row in table((ROOT / "docs/metering.md").read_text("utf-8"), "outcome") if len(row) == 2
    ):
        for state in re.findall(r"\b[A-Z_]{4,}\b", states):
            yield state, outcome


def test_the_table_of_outcomes_is_the_mapping_of_states() -> None:
    told = dict(reversed(list(outcomes())))  # REQUEUED stands twice; its plain outcome comes first
    assert told == {word: status.outcome for word, status in STATUSES.items()}


def test_the_table_of_roles_says_what_each_may_see() -> None:
    rows = table((ROOT / "docs/roles/security.md").read_text("utf-8"), "role")
    told = {}
    for names, _, usage, amounts, runs, _ in rows:
        for name in names.split(", "):
            told[name.replace(" ", "_")] = (usage == "yes", amounts == "yes", runs == "yes")
    seen = ("usage.view", "money.view", "run.view")
    assert told == {str(role): tuple(one in CAPABILITIES[role] for one in seen) for role in Role}


def test_every_role_has_a_page() -> None:
    pages = {path.stem for path in (ROOT / "docs/roles").glob("*.md")}
    text = " ".join(path.read_text("utf-8").lower() for path in (ROOT / "docs/roles").glob("*.md"))
    assert {"member", "lead", "finance", "operator", "leadership", "auditor", "administrator", "security"} <= pages
    assert all(str(role).replace("_", " ") in text for role in Role)


def test_the_licence_is_apache_2() -> None:
    licence = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in licence and "END OF TERMS AND CONDITIONS" in licence
