"""Reading the written records back: rows by column name, without the portal's own parser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from portal.demo.plan import DemoArguments, DemoPlan, generate
from portal.demo.sacct import FIELDS

UNTIL = date(2026, 11, 30)


@dataclass(frozen=True)
class Row:
    """A row as text by column name, with the figures that tests need."""

    text: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.text[column]

    def at(self, column: str) -> int | None:
        """Epoch seconds, None for words."""
        value = self.text[column]
        if not value[:1].isdigit():
            return None
        return int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()) - 8 * 3600

    @property
    def state(self) -> str:
        return self.text["State"].split()[0]

    @property
    def started(self) -> bool:
        return self.text["NodeList"] not in ("", "None assigned")

    @property
    def gpus(self) -> int:
        tres = dict(part.split("=") for part in self.text["AllocTRES"].split(",") if part)
        return int(tres.get("gres/gpu", 0))

    @property
    def nodes(self) -> list[str]:
        """Node names, unfolded."""
        text = self.text["NodeList"]
        if "[" not in text:
            return [text]
        prefix, spans = text.rstrip("]").split("[")
        names = []
        for span in spans.split(","):
            first, _, last = span.partition("-")
            numbers = range(int(first), int(last or first) + 1)
            names += [f"{prefix}{number:0{len(first)}d}" for number in numbers]
        return names


def rows_of(paths: list[Path], *, steps: bool = False) -> Iterator[Row]:
    """All rows of the files; the job name is the last column, so it may hold the delimiter."""
    columns = FIELDS.split("|")
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            row = Row(dict(zip(columns, line.split("|", len(columns) - 1), strict=True)))
            if steps or "." not in row["JobID"]:
                yield row


@dataclass(frozen=True)
class Company:
    """A written plan."""

    plan: DemoPlan
    paths: dict[str, list[Path]]
    rows: list[Row]


def written(folder: Path, arguments: DemoArguments) -> Company:
    """Generate and write everything."""
    plan = generate(arguments)
    paths = {cluster: plan.write(folder, cluster) for cluster in plan.clusters}
    return Company(plan, paths, [row for cluster in plan.clusters for row in rows_of(paths[cluster])])


def local_day(at: int) -> date:
    """The day in the demo's zone."""
    return date(1970, 1, 1) + timedelta(days=(at + 8 * 3600) // 86400)
