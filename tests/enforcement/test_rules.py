"""Rules of enforcement: which limits carry quotas, how what stands there compares, when what is over is clear, budgets."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from governance.quotas.enforcement import rules
from governance.quotas.enforcement.rules import Base, Line, Queue, Site, Wanted, compare, desired
from governance.schedulers.limits import ACCOUNT, QOS, USER, Limit, ObservedLimit, Values

SITE = Site(
    ("a100", "h100"),
    bases={"normal": {"Priority": 100, "Preempt": "low"}, "low": {"Priority": 1}, "urgent": {"Priority": 1000}},
)
TRAIN = Line("Q-1", "ocr", "train", base="normal", accounts=("ocr",), types=("a100",), guaranteed=8, ceiling=16)
INFER = replace(TRAIN, quota="Q-2", pool="infer", types=("h100",), guaranteed=2, ceiling=4)
ELASTIC = replace(TRAIN, quota="Q-3", level="elastic", base="low", guaranteed=0, ceiling=32)


def seen(limit: Wanted | Values, kind: str = QOS, name: str = "x") -> ObservedLimit:
    """An object that carries just this, in the accounting and in the controller."""
    values = limit.values if isinstance(limit, Wanted) else limit
    told = {key: value for key, value in values.items() if ":" in key}
    return ObservedLimit(kind, name, "1", dict(values), told, True, {}, {})


def test_a_line_is_a_qos_that_holds_its_ceiling_its_type_and_nothing_of_other_types() -> None:
    found = desired([TRAIN], SITE).limits
    assert found[QOS, "sy.ocr.train"].values == {
        "GrpTRES:gres/gpu": 16,
        "GrpTRES:gres/gpu:a100": 16,
        "GrpTRES:gres/gpu:h100": 0,
        "MinTRES:gres/gpu:a100": 1,
        "Flags": "NoDecay",
        "Priority": 100,
        "Preempt": "low",
    }
    account = found[ACCOUNT, "ocr"].values
    assert account["GrpTRES:gres/gpu"] == 16
    assert account["Fairshare"] == 8
    assert account["QOS"] == "sy.nogpu,sy.ocr.train"
    assert account["DefaultQOS"] == "sy.ocr.train"
    assert found[QOS, "sy.nogpu"].values == {"GrpTRES:gres/gpu": 0}


def test_an_account_carries_the_sum_of_its_lines_over_pools_and_levels() -> None:
    found = desired([TRAIN, INFER, ELASTIC], SITE).limits
    account = found[ACCOUNT, "ocr"]
    assert account.quotas == ("Q-1", "Q-2", "Q-3")
    assert account.values["GrpTRES:gres/gpu"] == 52
    assert account.values["GrpTRES:gres/gpu:a100"] == 48
    assert account.values["GrpTRES:gres/gpu:h100"] == 4
    assert account.values["DefaultQOS"] == "sy.ocr.train"  # normal before elastic, the larger ceiling first


def test_what_displaces_at_the_site_displaces_here() -> None:
    found = desired([TRAIN, ELASTIC], SITE).limits
    assert found[QOS, "sy.ocr.train"].values["Preempt"] == "low,sy.ocr.train.elastic"
    assert "Preempt" not in found[QOS, "sy.ocr.train.elastic"].values
    assert found[QOS, "sy.ocr.train.elastic"].values["Priority"] == 1


def test_a_rule_of_the_queue_says_who_goes_first_whom_it_displaces_and_how_long_a_job_may_run() -> None:
    urgent = replace(
        TRAIN, quota="Q-4", level="urgent", queue=Queue(900, ("elastic",), ("low", "gone"), max_wall_s=7200)
    )
    below = replace(ELASTIC, queue=Queue(0, None, when_displaced="cancel", min_run_s=1801))
    other_pool = replace(ELASTIC, quota="Q-5", pool="dev")
    found = desired([urgent, below, other_pool], SITE).limits
    first = found[QOS, "sy.ocr.train.urgent"].values
    assert (first["Priority"], first["Preempt"], first["MaxWall"]) == (900, "low,sy.ocr.train.elastic", 120)
    second = found[QOS, "sy.ocr.train.elastic"].values
    assert (second["Priority"], second["PreemptMode"], second["PreemptExemptTime"]) == (0, "cancel", 31)


def test_a_cluster_of_one_type_wants_no_type_named() -> None:
    found = desired([TRAIN], replace(SITE, types=("a100",))).limits
    assert "MinTRES:gres/gpu:a100" not in found[QOS, "sy.ocr.train"].values
    assert (QOS, "sy.nogpu") not in found


def test_a_pool_of_two_types_of_three_says_that_it_can_be_walked_round() -> None:
    both = replace(TRAIN, types=("a100", "h100"))
    found = desired([both], replace(SITE, types=("a100", "b200", "h100")))
    assert found.notes["Q-1"][0] == "any_type"
    assert found.limits[QOS, "sy.ocr.train"].values["GrpTRES:gres/gpu:b200"] == 0


def test_a_suspended_line_lets_nothing_start() -> None:
    found = desired([replace(TRAIN, is_suspended=True), INFER], SITE).limits
    assert found[QOS, "sy.ocr.train"].values["GrpTRES:gres/gpu"] == 0
    assert found[ACCOUNT, "ocr"].values["GrpTRES:gres/gpu"] == 4


def test_what_nothing_can_carry_is_refused_with_its_reason() -> None:
    found = desired(
        [
            replace(TRAIN, accounts=()),
            replace(INFER, accounts=(), shared=("common",)),
            replace(ELASTIC, types=(), unknown_models=("h800",)),
        ],
        SITE,
    )
    assert {number: code for number, (code, _) in found.refused.items()} == {
        "Q-1": "no_account",
        "Q-2": "shared_account",
        "Q-3": "type_unknown",
    }
    assert found.limits == {}


def test_codes_that_sacctmgr_would_fold_together_stay_apart() -> None:
    names = {rules.qos_name(project, "p", "normal", "") for project in ("Ocr", "ocr", "o,cr", "o.cr", "识别", "视觉")}
    assert len(names) == 6
    assert all(name == name.lower() and "," not in name and name.isascii() for name in names)


def test_what_never_held_is_to_be_told_and_what_held_and_was_changed_is_drift() -> None:
    wanted: dict[str, int | str] = {"GrpTRES:gres/gpu": 16, "QOS": "a,b"}
    other = seen({"GrpTRES:gres/gpu": 40, "QOS": "a,b"})
    assert compare(wanted, None, None).state == rules.TO_APPLY
    assert compare(wanted, other, None).state == rules.TO_APPLY
    assert compare(wanted, other, {"GrpTRES:gres/gpu": 8, "QOS": "a,b"}).state == rules.TO_APPLY  # the quota changed
    changed = compare(wanted, other, wanted)
    assert (changed.state, changed.differs) == (rules.CHANGED, {"GrpTRES:gres/gpu": (16, 40)})
    assert compare(wanted, seen({"QOS": "a,b"}), wanted).state == rules.MISSING
    assert compare(wanted, None, wanted).state == rules.MISSING
    assert compare(wanted, seen(wanted), None).state == rules.IN_FORCE


def test_an_ended_quota_is_lowered_to_nothing_and_never_cleared() -> None:
    for wanted in desired([TRAIN, INFER], SITE).limits.values():
        left = rules.retired(wanted.values)
        assert left.keys() == wanted.values.keys()
        assert all(value == 0 for key, value in left.items() if key.startswith("GrpTRES:"))
        assert left.get("QOS") == wanted.values.get("QOS")


def test_limits_that_no_quota_says_and_users_who_may_more_than_their_account_are_strangers() -> None:
    account: dict[str, int | str] = {"QOS": "sy.ocr.train", "DefaultQOS": "sy.ocr.train"}
    observed = {
        (ACCOUNT, "old"): seen({"GrpTRES:gres/gpu": 64}),
        (ACCOUNT, "plain"): seen({"Fairshare": 1}),
        (ACCOUNT, "ocr"): seen(account),
        (USER, "ocr/ada"): seen({"QOS": "normal,sy.ocr.train"}),
        (USER, "ocr/bob"): seen({"Fairshare": 1}),
    }
    found = rules.strangers(observed, {(ACCOUNT, "ocr"): account})
    assert {key: drift for key, (drift, _) in found.items()} == {
        (ACCOUNT, "old"): rules.UNMANAGED,
        (USER, "ocr/ada"): rules.EXTRA,
    }


def test_what_is_over_is_clear_when_enough_has_reached_its_time_limit() -> None:
    over = rules.over({"GrpTRES:gres/gpu": 4, "GrpTRES:gres/gpu:a100": 4, "Fairshare": 1}, {"gres/gpu": 16})
    assert over == {"gres/gpu": 12}
    jobs: list[tuple[int | None, dict[str, int]]] = [
        (300, {"gres/gpu": 8}),
        (100, {"gres/gpu": 4}),
        (200, {"gres/gpu": 4}),
    ]
    assert rules.clear_at(over, jobs) == 300
    assert rules.clear_at({"gres/gpu": 8}, jobs) == 200
    assert rules.clear_at(over, [(100, {"gres/gpu": 4}), (None, {"gres/gpu": 12})]) is None


lines = st.builds(
    Line,
    quota=st.integers(1, 999).map(lambda n: f"Q-{n}"),
    project=st.sampled_from(["ocr", "rank"]),
    pool=st.sampled_from(["train", "infer"]),
    level=st.sampled_from(["normal", "urgent", "elastic"]),
    base=st.sampled_from(["normal", "low", ""]),
    types=st.sampled_from([("a100",), ("h100",), ("a100", "h100"), ()]),
    guaranteed=st.integers(0, 8),
    ceiling=st.integers(8, 64),
    hours=st.none() | st.integers(0, 1000),
    is_suspended=st.booleans(),
).map(lambda line: replace(line, accounts=(f"acc-{line.project}",)))


@given(st.lists(lines, max_size=6, unique_by=lambda line: line.qos))
def test_once_told_all_that_is_wanted_holds_and_nothing_is_left_to_tell(given_lines: list[Line]) -> None:
    found = desired(given_lines, SITE)
    observed = {key: seen(wanted, *key) for key, wanted in found.limits.items()}
    for key, wanted in found.limits.items():
        assert compare(wanted.values, observed[key], None).state == rules.IN_FORCE
        assert not observed[key].lags(wanted.values)
        left = rules.retired(wanted.values)
        assert observed[key].differs(left).keys() <= {name for name in left if name.startswith("GrpTRES:")}
    assert rules.strangers(observed, {key: wanted.values for key, wanted in found.limits.items()}) == {}
    assert all(
        isinstance(limit, Limit) for limit, _ in rules.orders({k: w.values for k, w in found.limits.items()}, {})
    )


@given(st.lists(st.tuples(st.integers(0, 500), st.booleans()), min_size=1, max_size=12))
def test_a_budget_is_neither_given_twice_nor_lost_when_the_count_is_reset(steps: list[tuple[int, bool]]) -> None:
    """What is used in the period + what is left of the limit = the budget, whatever resets the count."""
    budget, used, counted = 10_000, 0, 70
    base: Base | None = rules.next_base(None, "2026-12", counted)
    for minutes, reset in steps:
        counted, used = counted + minutes, used + minutes
        base = rules.next_base(base, "2026-12", counted)
        if reset:
            counted = 0
            base = rules.next_base(base, "2026-12", counted)
        assert base is not None
        assert base.minutes + budget - counted == budget - used
        assert rules.next_base(base, "2026-12", counted) == base  # a second look changes nothing
    assert rules.next_base(base, "2027-01", counted).minutes == counted


def test_a_month_has_its_own_period_and_a_total_has_one() -> None:
    assert rules.period_of("month", date(2026, 12, 31)) == "2026-12"
    assert rules.period_of("total", date(2026, 12, 31)) == "total"


def test_what_a_line_no_longer_wants_is_undone_and_not_forgotten() -> None:
    before = desired([replace(TRAIN, hours=10)], SITE).limits[QOS, "sy.ocr.train"].values
    after = desired([replace(TRAIN, types=("h100",), base="")], SITE).limits[QOS, "sy.ocr.train"].values
    wanted = rules.carried_over(before, after)
    assert wanted["GrpTRESMins:gres/gpu"] == rules.NO_BUDGET
    assert (wanted["MinTRES:gres/gpu:a100"], wanted["MinTRES:gres/gpu:h100"]) == (0, 1)
    assert wanted["Preempt"] == ""
    assert rules.carried_over(wanted, after) == wanted
