"""The SQL of the ledger: one statement a file, each with a header that says what it does."""

from functools import cache
from pathlib import Path


@cache
def text(name: str) -> str:
    """The statement in `<name>.sql`."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")
