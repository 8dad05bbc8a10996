"""What Slurm 22.05 prints of limits, recorded, and the words that set them."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.schedulers.limits import ACCOUNT, QOS, USER, ObservedLimit, Transaction
from governance.schedulers.slurm import accounting, limit_text

RECORDED = Path(__file__).resolve().parents[1] / "recorded" / "limits"


def _lines(name: str) -> list[str]:
    return (RECORDED / name).read_text().splitlines()


def test_an_account_has_its_own_limits_and_not_those_above_it() -> None:
    found = {(one.kind, one.name): one for one in limit_text.associations(_lines("assoc.txt"))}
    vision = found[ACCOUNT, "vision"]
    assert vision.number == "7"
    assert vision.values["GrpTRES:gres/gpu"] == 32
    assert (vision.values["QOS"], vision.values["DefaultQOS"]) == ("sy-vision-train", "sy-vision-train")
    assert found[USER, "vision/lab-cai"].values == {"Fairshare": 1}
    assert found[USER, "search/lab-dee"].values["QOS"] == "low,normal"


def test_a_qos_has_its_counts_by_tres_and_its_names() -> None:
    found = {one.name: one.values for one in limit_text.qualities(_lines("qos.txt"))}
    assert found["sy-vision-train"] == {
        "GrpTRES:gres/gpu": 17,
        "GrpTRES:gres/gpu:a100": 17,
        "GrpTRES:gres/gpu:h100": 0,
        "GrpTRESMins:gres/gpu": 1_000_000,
        "MinTRES:gres/gpu:a100": 1,
        "Priority": 100,
        "Flags": "NoDecay",
        "Preempt": "low",
        "MaxWall": 2 * 24 * 60 + 30,
        "PreemptExemptTime": 30,
        "PreemptMode": "requeue",
    }
    assert found["normal"] == {"Priority": 100, "Preempt": "low", "PreemptMode": "cluster"}


def test_the_controller_tells_limits_use_and_minutes_apart() -> None:
    found = limit_text.enforced(_lines("assoc_mgr.txt"))
    held = found[QOS, "sy-vision-train"]
    assert held.values["GrpTRES:gres/gpu:a100"] == 17
    assert held.values["GrpTRESMins:gres/gpu"] == 1_000_000
    assert held.values["MinTRES:gres/gpu:a100"] == 1
    assert held.used["gres/gpu"] == 0
    assert held.used_minutes["gres/gpu"] > 0
    assert found[ACCOUNT, "vision"].values == {"GrpTRES:gres/gpu": 32}
    assert (USER, "vision/lab-cai") in found


def test_a_limit_that_the_database_has_and_the_controller_has_not_lags() -> None:
    wanted: dict[str, int | str] = {"GrpTRES:gres/gpu": 8, "QOS": "a", "MinTRES:gres/gpu:a100": 0}
    there = ObservedLimit(ACCOUNT, "x", "1", {"GrpTRES:gres/gpu": 8, "QOS": "a"}, {"GrpTRES:gres/gpu": 4}, True, {}, {})
    assert there.differs(wanted) == {}
    assert there.lags(wanted) == ["GrpTRES:gres/gpu"]
    assert there._replace(enforced={"GrpTRES:gres/gpu": 8}).lags(wanted) == []
    assert "GrpTRES:gres/gpu" in there._replace(known_to_controller=False).lags(wanted)


@pytest.mark.parametrize(("key", "unset"), [("MaxWall", -1), ("PreemptMode", "cluster"), ("Preempt", "")])
def test_what_is_unset_and_what_is_not_there_are_the_same(key: str, unset: int | str) -> None:
    assert ObservedLimit(QOS, "x", "1", {}, {}, True, {}, {}).differs({key: unset}) == {}
    assert ObservedLimit(QOS, "x", "1", {key: unset}, {}, True, {}, {}).differs({key: 5}) == {key: 5}


def test_no_limit_is_another_thing_than_a_limit_of_nothing() -> None:
    free = ObservedLimit(ACCOUNT, "x", "1", {}, {}, True, {}, {})
    assert free.differs({"GrpTRES:gres/gpu": 0}) == {"GrpTRES:gres/gpu": 0}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"GrpTRES:gres/gpu:a100": 4, "GrpTRES:gres/gpu": 8, "Fairshare": 8},
            ["Fairshare=8", "GrpTRES=gres/gpu=8,gres/gpu:a100=4"],
        ),
        ({"QOS": "b,c", "DefaultQOS": "b"}, ["DefaultQOS=b", "QOS=b,c"]),
    ],
)
def test_equal_values_are_told_in_equal_words(values: dict[str, int | str], said: list[str]) -> None:
    assert limit_text.settings(values) == limit_text.settings(dict(reversed(values.items()))) == said


def test_a_change_names_its_author_and_each_object() -> None:
    found = [one for one in accounting.transactions(_lines("transactions.txt")) if isinstance(one, Transaction)]
    changes = [change for one in found for change in limit_text.changes(one)]
    assert {(change.actor, change.kind, change.key) for change in changes} >= {
        ("root", QOS, "sy-vision-train"),
        ("root", ACCOUNT, "7"),
    }
    several = Transaction(1, "Modify Associations", "root", "(id_assoc=134 || id_assoc=138)", "")
    assert [one.key for one in limit_text.changes(several)] == ["134", "138"]
