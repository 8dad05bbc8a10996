"""Instants, durations, and every way Slurm says that there is none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.schedulers.errors import RecordFault, UnreadableSource
from governance.schedulers.records import Flag
from governance.schedulers.slurm.times import Clock, duration, epoch, minutes
from tests.schedulers.slurm_reading import START, bad, run


@pytest.mark.parametrize("word", ["Unknown", "None", "N/A", "0", "null", "(null)", "", "INVALID", "unknown", " None "])
def test_every_word_for_no_time_means_none(word: str) -> None:
    assert Clock("UTC").instant(word) is None


@pytest.mark.parametrize("number", [0, -1, 2**32 - 2, 2**32 - 1, 2**64 - 2, 2**64 - 1])
def test_sentinels_are_no_instants(number: int) -> None:
    assert epoch(number) is None


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("1772442000", "Asia/Shanghai"),
        ("2026-03-02T09:00:00", "UTC"),
        ("2026-03-02 09:00:00", "UTC"),
        ("2026-03-02T17:00:00", "Asia/Shanghai"),
        ("2026-03-02T04:00:00", "America/New_York"),
        ("2026-03-02T17:00:00+08:00", "America/New_York"),
        ("2026-03-02T17:00:00+0800", "America/New_York"),
        ("2026-03-02T09:00:00Z", "Asia/Shanghai"),
    ],
)
def test_one_instant_in_all_its_forms(text: str, zone: str) -> None:
    clock = Clock(zone)
    assert [clock.instant(text), clock.instant(text)] == [START, START]
    assert not clock.folded


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00", "2026-03-02T09", "2026-03-02T09:00", "17960994"])
def test_half_and_false_instants_are_faults(text: str) -> None:
    with pytest.raises(RecordFault) as caught:
        Clock("UTC").instant(text)
    assert caught.value.code == "bad_time"


def test_the_hour_that_exists_twice_takes_the_earlier_offset_with_a_finding() -> None:
    clock = Clock("America/New_York")  # 2026-11-01 02:00 EDT becomes 01:00 EST
    assert clock.instant("2026-11-01T01:30:00") == int(datetime(2026, 11, 1, 5, 30, tzinfo=UTC).timestamp())
    assert clock.folded == {"2026-11-01T01:30:00"}
    assert clock.instant("2026-11-01T00:30:00") == int(datetime(2026, 11, 1, 4, 30, tzinfo=UTC).timestamp())
    assert clock.instant("2026-11-01T02:30:00") == int(datetime(2026, 11, 1, 7, 30, tzinfo=UTC).timestamp())
    assert len(clock.folded) == 1


def test_a_run_in_the_folded_hour_is_counted_and_flagged() -> None:
    folded = run(
        time_zone="America/New_York",
        Submit="2026-11-01T00:10:00",
        Eligible="2026-11-01T00:10:00",
        Start="2026-11-01T00:30:00",
        End="2026-11-01T01:30:00",
        Elapsed="01:00:00",
    )
    assert (folded.end_at or 0) - (folded.start_at or 0) == 3600
    assert folded.flags == Flag.FOLDED_HOUR


def test_a_folded_hour_against_the_elapsed_time_shows_both_findings() -> None:
    folded = run(
        time_zone="America/New_York",
        Submit="2026-11-01T00:10:00",
        Start="2026-11-01T00:30:00",
        End="2026-11-01T01:30:00",
        Elapsed="02:00:00",
    )
    assert folded.flags == f"{Flag.ELAPSED_MISMATCH},{Flag.FOLDED_HOUR}"


def test_an_hour_that_does_not_exist_is_quarantined() -> None:
    assert bad(time_zone="America/New_York", Start="2026-03-08T02:30:00").code == "no_such_hour"
    assert run(time_zone="America/New_York", Start="2026-03-08T03:30:00", End="2026-03-08T05:30:00").flags == ""


def test_zones_that_change_at_half_an_hour_are_exact() -> None:
    clock = Clock("Australia/Lord_Howe")  # 2026-04-05 02:00 +11 becomes 01:30 +10:30
    early, folded = clock.instant("2026-04-05T01:10:00"), clock.instant("2026-04-05T01:40:00")
    assert early is not None and folded == early + 1800
    assert clock.instant("2026-04-05T01:10:00") == early
    assert clock.folded == {"2026-04-05T01:40:00"}
    assert clock.instant("2026-04-05T02:10:00") == early + 3600 + 1800


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "America"])
def test_a_zone_nobody_knows_is_refused(zone: str) -> None:
    with pytest.raises(UnreadableSource) as caught:
        Clock(zone)
    assert (caught.value.code, caught.value.detail) == ("unknown_time_zone", {"time_zone": zone})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10-13:27:06", 912426),
        ("00:00:24", 24),
        ("01:02.345", 62),
        ("02:03:04.999", 7384),
        ("3-04:05", 273900),
        ("37-14:00:00", 3247200),
        ("86301", 86301),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("INVALID", None),
        ("Unknown", None),
        ("", None),
        ("4294967295", None),
    ],
)
def test_durations_in_whole_seconds(text: str, seconds: int | None) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["soon", "1:2:3:4", "-5", "1-2-3"])
def test_what_is_no_duration_is_a_fault(text: str) -> None:
    with pytest.raises(RecordFault) as caught:
        duration(text)
    assert caught.value.code == "bad_duration"


def test_raw_limits_are_minutes() -> None:
    assert (minutes("1440"), minutes("UNLIMITED"), minutes("1-00:00:00")) == (86400, None, 86400)


def test_a_limit_is_known_or_none() -> None:
    assert run(Timelimit="1-06:00:00").limit_s == 108000
    assert run(Timelimit="Partition_Limit").limit_s is None
    assert run(Timelimit="UNLIMITED").limit_s is None
    assert run(TimelimitRaw="60", Timelimit="01:00:00").limit_s == 3600


@given(st.datetimes(min_value=datetime(2002, 1, 1), max_value=datetime(2090, 1, 1)))  # noqa: DTZ001  naive on purpose
def test_any_utc_second_survives(moment: datetime) -> None:
    whole = moment.replace(microsecond=0)
    assert Clock("UTC").instant(whole.isoformat()) == int(whole.replace(tzinfo=UTC).timestamp())


@given(st.text(max_size=30))
def test_any_text_is_an_instant_or_none_or_a_fault(text: str) -> None:
    try:
        instant = Clock("Europe/Berlin").instant(text)
    except RecordFault as fault:
        assert fault.code in ("bad_time", "no_such_hour")
    else:
        assert instant is None or instant > 0
