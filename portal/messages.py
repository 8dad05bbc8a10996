"""Message catalogues: `locale/*/LC_MESSAGES/*.po` compiled to `.mo` in Python, since GNU gettext may be missing."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po


@dataclass(frozen=True)
class Fault:
    """A translation that is left out, so that the reader sees the English text instead of an error."""

    file: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class Compiled:
    """What one look at the catalogues did."""

    written: tuple[Path, ...]
    current: tuple[Path, ...]
    faults: tuple[Fault, ...]


def compile_catalogues(locale: Path, *, force: bool = False) -> Compiled:
    """Compile each catalogue below `locale` that is newer than its compiled form, or all of them with `force`.

    A file that does not parse, or a translation whose placeholders differ from the original's, becomes a Fault.
    """
    written, current, faults = [], [], []
    for source in sorted(locale.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if not force and target.exists() and target.stat().st_mtime_ns >= source.stat().st_mtime_ns:
            current.append(target)
            continue
        try:
            with source.open("rb") as file:
                catalog = read_po(file, locale=source.parents[1].name, abort_invalid=True)
        except (PoFileError, ValueError) as fault:
            faults.append(Fault(source, getattr(fault, "lineno", None) or 0, str(fault)))
            continue
        faults += _drop_mismatches(catalog, source)
        _write(catalog, target)
        written.append(target)
    return Compiled(tuple(written), tuple(current), tuple(faults))


def _drop_mismatches(catalog: Catalog, source: Path) -> Iterator[Fault]:
    for message, errors in list(catalog.check()):
        if message.id:
            yield Fault(source, message.lineno or 0, f"{message.id!r}: {'; '.join(map(str, errors))}")
            catalog.delete(message.id, context=message.context)


def _write(catalog: Catalog, target: Path) -> None:
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    with fresh.open("wb") as file:
        write_mo(file, catalog)
    fresh.replace(target)
