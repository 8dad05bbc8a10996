"""The parts of the bench, each a method that answers figures. Import after Django is there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

from django.db import connection, transaction

from billing.ledger import actions as ledger
from billing.ledger.posting import Rating, post_day, postable_days
from billing.ledger.reads import statement
from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.schedulers.files import ReadOptions, open_source, read
from governance.usage import actions as usage
from governance.usage.ingest import Counts
from governance.usage.metering import Meter
from governance.usage.models import DirtyDay, Intake
from portal.organisation.actions import load
from tests.bench.bare_day import bare_group_by
from tests.bench.company import CLUSTER, document
from tests.bench.plain_copy import seconds_of_plain_copy
from tests.bench.records import MONTH, write_records
from tests.bench.report import Figure
from tests.bench.stopwatch import stopwatch

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ReadOptions(time_zone="Asia/Shanghai")
REPEATS = 5  # of what takes well under a second; the median counts
FLAT = 1.25  # peaks of imports of 1 and 3 parts differ by less
EVERYTHING = (
    "run, run_seen, run_seen_together, run_span, usage_day, capacity_day, fact_day, dirty_day, watermark, quarantined_record, intake,"
    " line, entry, posted_day, period"
)


def seconds_of(work: Callable[[], object]) -> float:
    """Wall clock seconds."""
    begin = perf_counter()
    work()
    return perf_counter() - begin


class Bench:
    """One run of the bench on an empty, migrated database."""

    def __init__(self, folder: Path, rows: int, days: int) -> None:
        self.folder, self.rows, self.days = folder, rows, days
        self.actor = Actor.machine("bench")
        self.file = folder / "sacct.txt"
        write_records(self.file, rows, days)
        load(document(), actor=self.actor)
        self.cluster = Cluster.objects.get(code=CLUSTER)
        self._first_import: float | None = None
        self._is_metered = False

    def part(self, name: str) -> Iterator[Figure]:
        """The figures of a part; what it stands on is done first where it has not been."""
        return {
            "parse": self.parse,
            "import": self.bring,
            "reimport": self.bring_again,
            "day": self.day,
            "post": self.post,
            "ledger": self.ledger,
            "memory": self.memory,
        }[name]()

    def parse(self) -> Iterator[Figure]:
        """The parser alone, records thrown away."""
        begin = perf_counter()
        with open_source(str(self.file)) as source:
            rows = sum(1 for _ in read(source, name=str(self.file), options=OPTIONS))
        yield Figure("parse", "parse", perf_counter() - begin, rows)

    def bring(self) -> Iterator[Figure]:
        """The import against a plain COPY, measured before and after it since the machine may be busier at one time than at another."""
        before, rows = seconds_of_plain_copy(self.file, OPTIONS)
        begin = perf_counter()
        with stopwatch() as stages:
            counts = self._import()
        seconds = self._first_import = perf_counter() - begin
        assert counts.new == rows == self.rows, counts
        after, _ = seconds_of_plain_copy(self.file, OPTIONS)
        copy = (before + after) / 2
        yield Figure("import", "plain binary COPY, mean of two", copy, rows)
        yield Figure("import", "import", seconds, rows, ratio=copy / seconds, against="rate of the COPY", goal=">= 0.4")
        for stage, spent in sorted(stages.items(), key=lambda pair: -pair[1]):
            yield Figure("import", f"  of it {stage}", spent, ratio=spent / seconds, against="the import")

    def bring_again(self) -> Iterator[Figure]:
        """The same file again: recognised, then with nothing to recognise it by."""
        first = self._imported()
        for what in ("recognised by its content", "every record compared"):
            begin = perf_counter()
            counts = self._import()
            seconds = perf_counter() - begin
            assert (counts.new, counts.changed, counts.unchanged) == (0, 0, self.rows), counts
            given = {"ratio": first / seconds, "against": "speed of the first import", "goal": ">= 3"}
            yield Figure("reimport", f"same file again, {what}", seconds, self.rows, **given)  # type: ignore[arg-type]
            Intake.objects.update(fingerprint="")

    def day(self) -> Iterator[Figure]:
        """The fullest day of the month rebuilt: with nothing to write, with everything to write; and its bare GROUP BY."""
        metering = self._metered()
        if metering:
            yield Figure("day", f"everything metered, {metering[1]} days", metering[0], self.rows)
        day = self._fullest_day()
        meter = Meter(self.cluster)
        bare = median(seconds_of(lambda: bare_group_by(self.cluster, day)) for _ in range(REPEATS))
        again, anew = [], []
        for _ in range(REPEATS):
            DirtyDay.objects.create(cluster=self.cluster, day=day)
            again.append(seconds_of(lambda: self._rebuild(meter, day)))
        for _ in range(REPEATS):
            with connection.cursor() as cursor:
                cursor.execute("DELETE FROM usage_day WHERE day = %s", [day])
            DirtyDay.objects.create(cluster=self.cluster, day=day)
            anew.append(seconds_of(lambda: self._rebuild(meter, day)))
        yield Figure("day", "bare GROUP BY of one day", bare)
        against = "seconds of the GROUP BY"
        yield Figure(
            "day",
            "dirty day rebuilt, same facts",
            median(again),
            ratio=median(again) / bare,
            against=against,
            goal="<= 2",
        )
        yield Figure(
            "day",
            "dirty day rebuilt, all facts written",
            median(anew),
            ratio=median(anew) / bare,
            against=against,
            goal="<= 2",
        )
        command = median(seconds_of(lambda: self._meter_command(day)) for _ in range(REPEATS))
        yield Figure("day", "the whole call for one dirty day", command, ratio=command / bare, against=against)

    def post(self) -> Iterator[Figure]:
        """A month posted, day by day as `post` does, then looked through again with nothing to post; then the other days."""
        self._metered()
        days = [day for day in postable_days(self.cluster) if f"{day:%Y-%m}" == MONTH]
        rating = Rating()
        posted = seconds_of(lambda: [post_day(self.cluster, day, rating, by="bench") for day in days])
        yield Figure("post", f"a month posted, {len(days)} days", posted, self._lines())
        again = seconds_of(lambda: [post_day(self.cluster, day, rating, by="bench") for day in days])
        yield Figure(
            "post", "the month again, nothing to post", again, ratio=posted / again, against="speed of the posting"
        )
        yield Figure("post", "all other days", seconds_of(lambda: ledger.post(actor=self.actor)))

    def ledger(self) -> Iterator[Figure]:
        """The ledger of a month as page and command read it."""
        self._metered()
        ledger.post(actor=self.actor)
        for dimension in ("department", "project", "user", "day"):
            read_it = partial(statement, MONTH, (dimension,), actor=self.actor)
            rows = read_it().rows
            assert rows
            seconds = median(seconds_of(read_it) for _ in range(REPEATS))
            yield Figure("ledger", f"a month by {dimension}, {len(rows)} rows", seconds)

    def memory(self) -> Iterator[Figure]:
        """Peak memory of an import in a process of its own, at a tenth, one and three parts of the rows."""
        one: float | None = None
        for times in (0.1, 1, 3):
            rows = max(1, int(self.rows * times))
            file = self.folder / f"memory-{rows}.txt"
            write_records(file, rows, self.days, seed=2)
            self.empty()
            command = [sys.executable, "-m", "tests.bench.peak", str(file)]
            begin = perf_counter()
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            seconds = perf_counter() - begin
            file.unlink()
            answer = json.loads(done.stdout)
            assert answer["new"] == rows, answer
            figure = Figure("memory", f"peak of an import of {rows:,} rows", seconds, rows, answer["mib"])
            if times == 1:
                one = answer["mib"]
            elif one:
                figure.ratio, figure.against, figure.goal = (
                    answer["mib"] / one,
                    f"peak at {self.rows:,} rows",
                    f"<= {FLAT}",
                )
            yield figure

    def empty(self) -> None:
        """Back to empty books."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SET steelyard.maintenance = 'on'; TRUNCATE {EVERYTHING} CASCADE; SET steelyard.maintenance = 'off'"
            )
        self._first_import, self._is_metered = None, False

    def _import(self) -> Counts:
        (counts,) = usage.import_files(CLUSTER, [str(self.file)], actor=self.actor)
        return counts

    def _imported(self) -> float:
        """Seconds of the first import, which is done now if it was not."""
        if self._first_import is None:
            self._first_import = seconds_of(self._import)
        return self._first_import

    def _metered(self) -> tuple[float, int] | None:
        """Meter all days once: (seconds, days), None where it was done before."""
        self._imported()
        if self._is_metered:
            return None
        begin = perf_counter()
        done = usage.meter(CLUSTER, actor=self.actor)
        self._is_metered = True
        return perf_counter() - begin, done.days

    def _rebuild(self, meter: Meter, day: date) -> None:
        with transaction.atomic():
            meter._rebuild(day)

    def _meter_command(self, day: date) -> None:
        DirtyDay.objects.create(cluster=self.cluster, day=day)
        usage.meter(CLUSTER, actor=self.actor, from_on=day, to_on=day + timedelta(days=1))

    def _fullest_day(self) -> date:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT day FROM usage_day WHERE to_char(day, 'YYYY-MM') = %s"
                " GROUP BY 1 ORDER BY sum(runs_started) DESC, 1 LIMIT 1",
                [MONTH],
            )
            return cursor.fetchone()[0]

    def _lines(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM line")
            return cursor.fetchone()[0]
