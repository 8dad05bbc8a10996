"""`python -m tests.bench [--rows N] [--days N] [--only PART …] [--json]`: measure, print one table. Status 0 unless something broke.

`python -m tests.bench pages` measures pages instead (see tests/bench/pages.py)."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from pathlib import Path

from tests.bench import asks, pages
from tests.bench.records import DAYS
from tests.bench.report import Figure, table
from tests.bench.scratch import scratch_database

PARTS = ("parse", "import", "reimport", "day", "post", "ledger", "memory")
LIVE = ("repull", "backfill", "two_workers", "reconcile")


def main() -> None:
    """Measure on a scratch database and a temporary folder; both are gone afterwards.

    `pages` or `asks` first: those of a large year, or of many asks.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the database goes, too, when the bench is ended
    if sys.argv[1:2] == ["pages"]:
        pages.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["asks"]:
        asks.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="runs to generate (default: 1000000)")
    parser.add_argument("--days", type=int, default=DAYS, help=f"that they spread over, 60 to {DAYS} (default: {DAYS})")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS + LIVE,
        default=PARTS + LIVE,
        metavar="PART",
        help=f"some of: {', '.join(PARTS + LIVE)}",
    )
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of the table")
    asked = parser.parse_args()
    if asked.rows < 1 or not 60 <= asked.days <= DAYS:
        parser.error("at least one row, and days within the bounds")
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder, scratch_database():
        from tests.bench.live import LIVE_PARTS
        from tests.bench.measures import Bench

        bench = Bench(Path(folder), asked.rows, asked.days)
        for name in PARTS + LIVE:
            if name in asked.only:
                print(f"{name} …", file=sys.stderr)
                for figure in LIVE_PARTS[name](bench) if name in LIVE else bench.part(name):
                    print(
                        f"  {figure.what}: {'' if figure.seconds is None else f'{figure.seconds:.3f} s'}",
                        file=sys.stderr,
                    )
                    figures.append(figure)
    if asked.as_json:
        print(json.dumps([figure.as_dict() for figure in figures], indent=1))
    else:
        print(
            f"{asked.rows:,} runs, Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        )
        print(table(figures))


if __name__ == "__main__":
    main()
