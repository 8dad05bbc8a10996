"""`python -m tests.bench.pages_pull`: bring records of the last day in and meter it, again and again until ended.

DATABASE_URL names the bench's database. It says so when the first records are being read.
"""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

from tests.bench.scratch import start_django

RECORDS = 1_000  # of a pull: five minutes of a large site are a hundred


def main() -> None:
    """Pull after pull: each brings new runs of the last day, and some that were there."""
    start_django()
    from governance.access.actor import Actor
    from governance.schedulers.files import ReadOptions
    from governance.usage import actions as usage
    from tests import books
    from tests.bench.large_year import END

    actor, options = Actor.machine("bench"), ReadOptions(time_zone="UTC")
    number = 0
    print("begun", flush=True)
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder:
        while True:
            records = []
            for n in range(number, number + RECORDS):
                at = (END - timedelta(hours=8, seconds=n % 20_000)).isoformat()
                stop = (END - timedelta(hours=1)).isoformat()
                owner = {"Account": f"vision_{n % 150:03d}", "User": f"pulled-{n % 50}"}
                records.append(
                    books.line(f"p{n}", at, at, stop, gpus=1, Partition="train-a", NodeList="bj-a800-0001", **owner)
                )
            path = Path(folder) / f"{number}.txt"
            path.write_text(books.text(records), encoding="utf-8")
            usage.import_files("bj", [str(path)], actor=actor, options=options)
            usage.meter("bj", actor=actor)
            number += RECORDS - 100


if __name__ == "__main__":
    main()
