"""The records are what a scheduler could have written: nothing over-allocated, all in order, every trap in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from portal.demo.plan import DemoArguments, generate, midnight
from portal.demo.rhythm import is_holiday
from portal.demo.sacct import FIELDS
from tests.demo.rows import UNTIL, Company, Row, local_day, rows_of, written


def end_of(row: Row, company: Company) -> int:
    return row.at("End") or company.plan.end_at


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path):
    texts = []
    for name in ("once", "twice"):
        plan = generate(DemoArguments(gpus=64, months=1, until=UNTIL, seed=3, runs_per_day=80))
        for cluster in plan.clusters:
            plan.write(tmp_path / name, cluster)
        files = sorted((tmp_path / name).rglob("*.*"))
        texts.append([(path.relative_to(tmp_path / name), path.read_bytes()) for path in files])
        texts[-1].append((Path("outages"), repr(plan.outages()).encode()))
    assert texts[0] == texts[1]
    assert len(texts[0]) == 5


def test_another_seed_gives_other_records(tmp_path: Path):
    texts = []
    for seed in (1, 2):
        plan = generate(DemoArguments(gpus=16, months=1, until=UNTIL, seed=seed, runs_per_day=20))
        texts.append(plan.write(tmp_path / str(seed), "bj")[0].read_bytes())
    assert texts[0] != texts[1]


@pytest.mark.parametrize("gpus, months, runs", [(4, 1, 10), (8, 1, 30), (12, 1, 30), (64, 3, 40)])
def test_small_companies_work_and_hold_no_more_than_they_have(tmp_path: Path, gpus: int, months: int, runs: int):
    company = written(tmp_path, DemoArguments(gpus=gpus, months=months, until=UNTIL, runs_per_day=runs))
    days = (company.plan.arguments.end_on - company.plan.arguments.first_on).days
    assert runs * days * 0.8 < len(company.rows) < runs * days * 1.2
    assert over_allocated(company) == []
    assert 0.2 < used_part(company) <= 1


def over_allocated(company: Company) -> list[tuple[str, int]]:
    """(node, instant) wherever more cards were in use than the node has."""
    cards = {name: n for pool in company.plan.pools for name, n in zip(pool.names, pool.cards, strict=True)}
    moves: dict[str, Counter[int]] = defaultdict(Counter)
    for row in company.rows:
        if row.started and row.gpus:
            for node in row.nodes:
                each = row.gpus // len(row.nodes)
                moves[node][row.at("Start") or 0] += each
                moves[node][end_of(row, company)] -= each
    wrong = []
    for node, changes in moves.items():
        level = 0
        for at in sorted(changes):
            level += changes[at]
            if not 0 <= level <= cards[node]:
                wrong.append((node, at))
    return wrong


def used_part(company: Company) -> float:
    used = sum(row.gpus * (end_of(row, company) - (row.at("Start") or 0)) for row in company.rows if row.started)
    plan = company.plan
    return used / (plan.arguments.gpus * (plan.end_at - midnight(plan.arguments.first_on)))


def test_no_node_ever_gives_more_cards_than_it_has(company: Company):
    assert over_allocated(company) == []


def test_the_company_is_as_busy_as_published_clusters(company: Company):
    assert 0.60 < used_part(company) < 0.90


def test_cards_of_a_row_are_spread_evenly_over_its_nodes_and_named_in_both_ways(company: Company):
    for row in company.rows:
        if row.started:
            assert int(row["NNodes"]) == len(row.nodes)
            assert row.gpus <= 8 or row.gpus == 8 * len(row.nodes)
            typed = [part for part in row["AllocTRES"].split(",") if part.startswith("gres/gpu:")]
            assert all(int(part.split("=")[1]) == row.gpus for part in typed)
        else:
            assert row["AllocTRES"] == ""
            assert row["AllocCPUS"] == "0"


def test_instants_are_in_order_and_elapsed_is_what_they_say(company: Company):
    for row in company.rows:
        submit, start, end = row.at("Submit"), row.at("Start"), row.at("End")
        assert submit is not None
        if start is not None:
            assert submit <= start <= end_of(row, company) <= company.plan.end_at
        if row.started:
            assert start is not None
            days, _, clock = row["Suspended"].rpartition("-")
            hours, minutes, seconds = (int(part) for part in clock.split(":"))
            suspended = int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds
            assert int(row["ElapsedRaw"]) + suspended == end_of(row, company) - start
            assert int(row["ElapsedRaw"]) <= int(row["TimelimitRaw"]) * 60 + 30
        elif end is not None:
            assert submit < end


def test_a_run_is_one_row(company: Company):
    keys = Counter((row["Cluster"], row["JobIDRaw"], row["Submit"]) for row in company.rows)
    assert max(keys.values()) == 1


def test_ends_are_mixed_as_published(company: Company):
    states = Counter(row.state for row in company.rows)
    part = {state: count / len(company.rows) for state, count in states.items()}
    assert 0.55 < part["COMPLETED"] < 0.68
    assert 0.14 < part["FAILED"] < 0.24
    assert 0.07 < part["CANCELLED"] < 0.15
    assert 0.02 < part["TIMEOUT"] < 0.06
    assert 0.01 < part["OUT_OF_MEMORY"] < 0.05
    assert {"PREEMPTED", "REQUEUED", "NODE_FAIL", "RUNNING", "PENDING"} <= set(states)


def test_a_requeue_is_another_row_of_the_same_job_with_a_later_submit(company: Company):
    by_job: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in company.rows:
        by_job[row["Cluster"], row["JobIDRaw"]].append(row)
    again = [sorted(rows, key=lambda row: row["Submit"]) for rows in by_job.values() if len(rows) > 1]
    before = Counter()
    for rows in again:
        for one, other in zip(rows, rows[1:], strict=False):
            before[one.state] += 1
            assert (one.at("End") or 0) <= (other.at("Submit") or 0)
            assert int(other["Restarts"]) == int(one["Restarts"]) + 1
    assert set(before) == {"PREEMPTED", "REQUEUED", "NODE_FAIL"}
    assert min(before.values()) > 0


def test_only_elastic_runs_are_preempted_and_never_within_two_hours(company: Company):
    preempted = [row for row in company.rows if row.state == "PREEMPTED"]
    assert len(preempted) > 20
    assert {row["QOS"] for row in preempted} == {"low"}
    assert min(int(row["ElapsedRaw"]) for row in preempted) >= 7200 * 0.9


def test_every_oddity_of_an_accounting_table_is_there(company: Company):
    rows = company.rows
    assert any(row.state == "CANCELLED" and not row.started and row["Start"] == "None" for row in rows)
    assert any(row.state == "CANCELLED" and not row.started and row["Start"] == row["End"] for row in rows)
    assert any(row["State"].startswith("CANCELLED by ") and row.started for row in rows)
    assert any(row["Eligible"] == "Unknown" for row in rows)
    assert any((row.at("Eligible") or 0) > (row.at("Submit") or 0) + 600 for row in rows)
    assert any(row.started and row.gpus == 0 for row in rows)
    assert any(row["Suspended"] != "00:00:00" for row in rows)
    assert any("|" in row["JobName"] for row in rows)
    assert any(row["Account"] == "legacy_bench" for row in rows)
    assert any(row["Reason"] == "AssocGrpGRES" for row in rows)
    assert any("gres/gpu:" not in row["AllocTRES"] and row.gpus for row in rows)


def test_the_last_task_of_an_array_has_the_arrays_own_id(company: Company):
    arrays: dict[tuple[str, str], set[tuple[int, int]]] = defaultdict(set)
    for row in company.rows:
        first, _, task = row["JobID"].partition("_")
        if task.isdigit():
            arrays[row["Cluster"], first].add((int(task), int(row["JobIDRaw"])))
    assert len(arrays) > 20
    whole = [
        (int(first), tasks)
        for (_, first), tasks in arrays.items()
        if {task for task, _ in tasks} == set(range(len(tasks)))
    ]
    assert len(whole) > 10
    complete = [(first, tasks) for first, tasks in whole if any(raw == first for _, raw in tasks)]
    assert len(complete) > 10
    assert all(max(tasks)[1] == first for first, tasks in complete)


def test_the_parts_of_a_heterogeneous_job_run_together_on_other_nodes(company: Company):
    parts = {
        (row["Cluster"], row["JobID"], row["Submit"]): row
        for row in company.rows
        if "+" in row["JobID"] and row.started
    }
    assert len(parts) >= 4
    for (cluster, label, submit), row in parts.items():
        leader, part = label.split("+")
        assert int(row["JobIDRaw"]) == int(leader) + int(part)
        other = parts[cluster, f"{leader}+{1 - int(part)}", submit]
        assert (row["Start"], row["End"]) == (other["Start"], other["End"])
        assert not set(row.nodes) & set(other.nodes)


def test_some_jobs_have_a_step_row_that_repeats_their_cards(company: Company):
    paths = [path for paths in company.paths.values() for path in paths]
    steps = [row for row in rows_of(paths, steps=True) if row["JobID"].endswith(".batch")]
    assert 0.02 < len(steps) / len(company.rows) < 0.07
    assert any(row.gpus for row in steps)


def test_running_and_waiting_jobs_stand_at_the_end_of_the_last_file(company: Company):
    last = {cluster: set(paths[-1].read_text().splitlines()) for cluster, paths in company.paths.items()}
    running = [row for row in company.rows if row["End"] == "Unknown"]
    assert {row.state for row in running} == {"RUNNING", "PENDING"}
    for row in running:
        assert "|".join(row.text.values()) in last[row["Cluster"]]


def test_a_row_stands_in_the_month_in_which_it_ended(company: Company):
    for paths in company.paths.values():
        for path in paths:
            for row in rows_of([path]):
                end = row.at("End")
                if end is not None:
                    assert f"{local_day(end):%Y-%m}" == path.stem.removeprefix("sacct-")


def test_people_work_less_at_weekends_and_on_holidays(company: Company):
    by_day = Counter(local_day(row.at("Submit") or 0) for row in company.rows if row["Restarts"] == "0")
    kinds: dict[str, list[int]] = defaultdict(list)
    for day, count in by_day.items():
        kinds["holiday" if is_holiday(day) else "weekend" if day.weekday() >= 5 else "week"].append(count)
    mean = {kind: sum(counts) / len(counts) for kind, counts in kinds.items()}
    assert mean["holiday"] < mean["weekend"] < 0.6 * mean["week"]


def test_most_runs_are_short_and_none_is_longer_than_a_week(company: Company):
    lasted = sorted(int(row["ElapsedRaw"]) for row in company.rows if row.started)
    assert lasted[len(lasted) // 2] < 3600
    assert lasted[len(lasted) * 95 // 100] > 20_000
    assert lasted[-1] <= 7 * 86400 + 30


def test_nothing_runs_on_a_node_that_is_out(company: Company):
    outages = company.plan.outages()
    assert {outage.state for outage in outages} == {"down", "drained"}
    out = defaultdict(list)
    for outage in outages:
        assert outage.to_at is None or outage.from_at < outage.to_at
        out[outage.node].append((outage.from_at, outage.to_at or company.plan.end_at))
    for row in company.rows:
        if row.started:
            start, end = row.at("Start") or 0, end_of(row, company)
            for node in row.nodes:
                assert not any(start < b and a < end for a, b in out[node]), (row, out[node])


def test_outages_of_a_node_do_not_overlap(company: Company):
    spans = defaultdict(list)
    for outage in company.plan.outages():
        spans[outage.node].append((outage.from_at, outage.to_at or company.plan.end_at))
    for found in spans.values():
        found.sort()
        assert all(one[1] <= other[0] for one, other in zip(found, found[1:], strict=False))


def test_outages_are_known_only_after_writing():
    plan = generate(DemoArguments(gpus=8, months=1, until=UNTIL, runs_per_day=5))
    with pytest.raises(ValueError, match="write bj first"):
        plan.outages()


def test_each_started_run_with_cards_has_activity_figures_within_its_time(company: Company):
    rows = {(row["Cluster"], row["JobIDRaw"], row["Submit"]): row for row in company.rows}
    seen = set()
    for cluster, paths in company.paths.items():
        lines = (paths[0].parent / "activity.csv").read_text().splitlines()[1:]
        for line in lines:
            where, job_id, submit, activity, idle = line.split(",")
            row = rows[where, job_id, submit.removesuffix("+08:00")]
            seen.add((where, job_id, row["Submit"]))
            assert where == cluster
            assert 0 <= float(activity) <= 1
            span = end_of(row, company) - (row.at("Start") or 0)
            assert 0 <= int(idle) <= row.gpus * span
    wanted = {key for key, row in rows.items() if row.started and row.gpus and "+" not in row["JobID"]}
    assert seen == wanted


def test_the_header_names_the_columns(company: Company):
    for paths in company.paths.values():
        for path in paths:
            with path.open() as lines:
                assert next(lines) == f"{FIELDS}\n"
