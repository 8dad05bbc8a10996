"""The connection test of slurmrestd: what it finds in a daemon that is well, half down, or hides something."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from tenacity import wait_none

from governance.schedulers.findings import FINDINGS
from governance.schedulers.live import Finding
from governance.schedulers.slurm import rest_http
from governance.schedulers.slurm.rest_http import Rest, TokenAt
from tests.schedulers.rest_serving import Daemon, Reply, errors, recorded, said, serving
from tests.schedulers.slurm_reading import answer, job
from tests.schedulers.test_rest_client import BAD_TOKEN, DATABASE_DOWN, UNSPECIFIC, token

GPUS = {"TRES": [{"type": "gres", "name": "gpu"}, {"type": "gres", "name": "gpu:a100"}, {"type": "cpu", "name": None}]}


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """A daemon whose clock is ours."""
    monkeypatch.setattr(rest_http, "BETWEEN_ATTEMPTS", wait_none())
    with serving() as one:
        one.on_slurm("diag", said({"statistics": {"req_time": int(time.time())}}))
        yield one


def found(daemon: Daemon, **connection: Any) -> dict[str, Finding]:
    """The findings by code; each has words, and its particulars fit them."""
    findings = daemon.client(**connection).probe()
    for one in findings:
        for words in FINDINGS[one.code]:
            assert (words % one.detail) if words else True
    assert len({one.code for one in findings}) == len(findings)
    return {one.code: one for one in findings}


def ran(hours_ago: int, **more: Any) -> dict[str, Any]:
    at = int(time.time()) - hours_ago * 3600
    times = {"submission": at, "eligible": at, "start": at + 60, "end": at + 120, "elapsed": 60, "suspended": 0}
    return job(time=job()["time"] | times, **more)


def test_a_daemon_that_is_well_says_so_and_what_rest_cannot_tell(daemon: Daemon) -> None:
    daemon.on_slurmdb("tres", said(GPUS))
    daemon.on_slurm("nodes", Reply(recorded("rest-nodes-v0.0.38.json")))
    daemon.on_slurmdb("jobs", Reply(answer(ran(2))))
    findings = found(daemon)
    assert {code for code, one in findings.items() if one.severity == "ok"} == {
        "rest_version",
        "clock_agrees",
        "controller_answers",
        "accounting_answers",
        "gpus_tracked",
        "sees_all_jobs",
    }
    assert {code for code, one in findings.items() if one.severity == "info"} == {
        "login_unknown",
        "attempts_unseen",
        "no_events_over_rest",
        "no_runaway_over_rest",
        "enforcement_unknown",
        "exit_codes_lost",
        "first_pull",
    }
    assert findings["types_not_tracked"].detail == {"types": "h100"}
    assert findings["controller_answers"].detail == {"cluster": "lab"}
    assert (findings["first_pull"].detail["days"], findings["first_pull"].detail["jobs"]) == (1, 1)


def test_earlier_attempts_that_are_shown_are_seen(daemon: Daemon) -> None:
    daemon.on_slurmdb("jobs", Reply(answer(ran(3, state={"current": "REQUEUED"}), ran(2))))
    assert found(daemon)["rest_attempts_visible"].severity == "ok"


def test_earlier_attempts_that_are_hidden_are_a_finding(daemon: Daemon) -> None:
    daemon.on_slurmdb("jobs", Reply(answer(ran(2))))
    daemon.on_slurm("jobs", said({"jobs": [{"job_id": 4711, "job_state": "RUNNING", "restart_cnt": 1}]}))
    hidden = found(daemon)["attempts_hidden"]
    assert (hidden.severity, hidden.detail["count"], hidden.detail["jobs"]) == ("warning", 1, "4711")


def test_cards_that_are_not_tracked_are_a_finding(daemon: Daemon) -> None:
    daemon.on_slurm("nodes", Reply(recorded("rest-nodes-v0.0.38.json")))
    findings = found(daemon)
    assert findings["gpus_not_tracked"].severity == "warning"
    assert findings["gpus_not_tracked"].detail["types"] == "a100 × 28, h100 × 4"
    assert "no_gpus" not in findings


def test_a_clock_that_is_off_is_a_finding(daemon: Daemon) -> None:
    daemon.on_slurm("diag", said({"statistics": {"req_time": int(time.time()) - 600}}))
    skew = found(daemon)["clock_skew"]
    assert skew.severity == "warning" and -602 <= skew.detail["skew_s"] <= -598


def test_a_slurmctld_that_is_down_does_not_end_the_questions_to_slurmdbd(daemon: Daemon) -> None:
    for thing in ("diag", "ping", "jobs", "nodes"):
        daemon.on_slurm(thing, errors(UNSPECIFIC, status=500))
    findings = found(daemon)
    assert findings["controller_down"].severity == "blocking"
    assert findings["accounting_answers"].severity == "ok" and "no_recent_jobs" in findings
    assert sum(daemon.times(f"/slurm/v0.0.38/{thing}") for thing in ("diag", "ping", "jobs", "nodes")) == 1


def test_a_slurmdbd_that_is_down_does_not_end_the_questions_to_slurmctld(daemon: Daemon) -> None:
    for thing in ("tres", "clusters", "jobs"):
        daemon.on_slurmdb(thing, errors(DATABASE_DOWN))
    findings = found(daemon)
    assert findings["accounting_down"].severity == "blocking"
    assert findings["clock_agrees"].severity == findings["controller_answers"].severity == "ok"


def test_a_token_that_is_not_taken_is_the_only_blocking_finding(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_TOKEN", token(exp=1_700_000_000))
    daemon.on_slurmdb("tres", errors(BAD_TOKEN))
    findings = found(daemon, token_env="LAB_TOKEN")
    assert [code for code, one in findings.items() if one.severity == "blocking"] == ["refused"]
    assert findings["token_expires"].severity == "warning"


def test_who_the_portal_is_comes_from_its_token(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", token(user="portal"))
    daemon.on_slurmdb("user/portal", said({"users": [{"name": "portal", "administrator_level": ["Operator"]}]}))
    findings = found(daemon, token_env="LAB_TOKEN")
    assert findings["rights_enough"].detail == {"login": "portal", "level": "Operator"}
    assert findings["token_expires"].severity == "ok"
    daemon.on_slurmdb("user/portal", said({"users": [{"name": "portal", "administrator_level": "None"}]}))
    assert found(daemon, token_env="LAB_TOKEN")["rights_few"].severity == "warning"


def test_only_own_jobs_are_a_warning(daemon: Daemon) -> None:
    daemon.on_slurmdb("jobs", Reply(answer(ran(2))))
    daemon.on_slurmdb("user/ada", said({"users": []}))
    assert found(daemon, user="ada")["one_user_seen"].severity == "warning"


@pytest.mark.parametrize(
    "chosen, code, severity", [("", "several_clusters", "warning"), ("sea", "unknown_cluster", "blocking")]
)
def test_a_database_of_several_clusters_needs_a_name_it_knows(
    daemon: Daemon, chosen: str, code: str, severity: str
) -> None:
    daemon.on_slurmdb("clusters", said({"clusters": [{"name": "lab"}, {"name": "hill"}]}))
    findings = found(daemon, cluster=chosen)
    assert (findings[code].severity, findings[code].detail["known"]) == (severity, "lab, hill")


def test_a_token_over_a_network_in_clear_is_a_warning() -> None:
    held = TokenAt(env="LAB_TOKEN")
    assert Rest(url="http://slurm.example", token=held).in_clear
    assert not Rest(url="https://slurm.example", token=held).in_clear
    assert not Rest(url="http://127.0.0.1:6820", token=held).in_clear
    assert not Rest(socket="/run/slurmrestd.sock", token=held).in_clear


def test_nobody_there_is_the_only_finding() -> None:
    with serving() as gone:
        client = gone.client()
    assert [one.code for one in client.probe()] == ["unreachable"]
