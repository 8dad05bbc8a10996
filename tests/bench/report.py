"""What was measured, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Figure:
    """One measured thing. Seconds are wall clock; a ratio is to what `against` names, measured in the same run."""

    part: str
    what: str
    seconds: float | None = None
    rows: int | None = None  # that were worked on in these seconds
    mib: float | None = None
    ratio: float | None = None
    against: str = ""
    goal: str = ""  # ">= 0.4", "<= 2"; empty: none

    @property
    def reached(self) -> bool | None:
        """Whether the ratio is on the right side of the goal; None without a goal."""
        if not self.goal or self.ratio is None:
            return None
        sign, bound = self.goal.split()
        return self.ratio >= float(bound) if sign == ">=" else self.ratio <= float(bound)

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {**asdict(self), "reached": self.reached}


HEADER = ("part", "what", "seconds", "rows/s", "MiB", "ratio", "to", "goal")


def table(figures: Iterable[Figure]) -> str:
    """The figures as lines of text, columns aligned."""
    cells = [HEADER, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(HEADER))]
    right = {2, 3, 4, 5}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def _cells(figure: Figure) -> tuple[str, ...]:
    verdict = {None: "", True: ": reached", False: ": NOT REACHED"}[figure.reached]
    return (
        figure.part,
        figure.what,
        "" if figure.seconds is None else f"{figure.seconds:.3f}",
        "" if not figure.rows or not figure.seconds else f"{figure.rows / figure.seconds:,.0f}",
        "" if figure.mib is None else f"{figure.mib:.0f}",
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        figure.against,
        figure.goal + verdict,
    )
