"""A real slurmrestd: its rows are those of sacct, its queue and nodes those of squeue and scontrol, its books the same."""

from __future__ import annotations

import io
import json
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from governance.catalogue.models import Cluster
from governance.schedulers.findings import FINDINGS
from governance.schedulers.live import SourceFault, Window
from governance.schedulers.records import RunRecord
from governance.schedulers.registry import connect
from governance.schedulers.slurm import json_records
from governance.schedulers.slurm.commands import ENV, GAP, SlurmCommands, moment
from governance.schedulers.slurm.rest import SlurmRest
from governance.schedulers.slurm.runner import LocalRunner, Patience
from governance.schedulers.slurm.text import Text
from governance.usage import live
from governance.usage.models import Run
from portal.organisation.actions import load
from tests.books import MACHINE
from tests.slurm.job_mix import Mix
from tests.slurm.labs import Lab
from tests.slurm.test_books_follow_slurm import ORGANISATION

pytestmark = pytest.mark.slurm

DAY = 86_400
Key = tuple[str, int | None]
# What the two print differently by nature: the record itself, slurmdbd's row number, which REST does not tell, and the
# seconds of what runs on between two questions.
LOOSE = {"raw": "", "db_index": None}


@pytest.fixture
def lab(slurmlab: Lab, mix: Mix) -> Lab:
    """The lab with every end state and reason to wait in it."""
    return slurmlab


def while_still(theirs: Callable[[], list[Any]], ours: Callable[[], list[Any]]) -> tuple[list[Any], list[Any]]:
    """What they say and what we say of one moment: ours is asked between two answers of theirs that are equal.

    Priorities grow and jobs move on while one asks, the slower the machine the more.
    """
    for _ in range(30):
        before, told, after = theirs(), ours(), theirs()
        if before == after:
            break
    return after, told


def over_rest(lab: Lab, **connection: Any) -> SlurmRest:
    made = connect("slurmrestd", name="lab", connection={"socket": lab.env["SLURMLAB_REST_SOCKET"]} | connection)
    assert isinstance(made, SlurmRest)
    return made


def rows_of_sacct(lab: Lab, window: Window, *flags: str) -> dict[Key, RunRecord]:
    fields = SlurmCommands(LocalRunner()).fields
    span = ("-S", moment(window.since_at), "-E", moment(window.until_at))
    words = ["sacct", "-a", "-X", *flags, "-P", "--noconvert", f"--delimiter={GAP}", *span, "-o", ",".join(fields)]
    printed = subprocess.run(words, env={**lab.env, **ENV}, capture_output=True, check=True).stdout
    rows = Text(io.BytesIO(), printed, fields=None, delimiter=GAP, time_zone="UTC")
    return {(one.job_id, one.submit_at): one for one in rows if isinstance(one, RunRecord)}


def plain(record: RunRecord, **more: Any) -> RunRecord:
    """A record without what may differ."""
    running = {"elapsed_s": None} if record.end_at is None else {}
    return record._replace(**LOOSE, **running, **more)


def is_told(raw: str) -> bool:
    """Whether slurmrestd tells whose a job was: of one whose association was deleted since, it says neither user nor QOS, sacct does."""
    return json.loads(raw)["association"] is not None


def settled(client: SlurmRest) -> Window:
    """A day up to a moment that lies far enough back for slurmdbd to know all of it."""
    now = client.clock()
    return Window(now - DAY, now - 5)


def test_rows_over_rest_are_those_of_sacct_but_for_exit_codes(lab: Lab) -> None:
    client = over_rest(lab)
    window = settled(client)
    rest = {(one.job_id, one.submit_at): one for one in client.jobs(window) if isinstance(one, RunRecord)}
    latest, every = rows_of_sacct(lab, window), rows_of_sacct(lab, window, "-D")
    assert rest.keys() == every.keys() and len(every) > len(latest)
    untold = {key for key, one in rest.items() if not is_told(one.raw)}
    rest, latest, every = ({key: of[key] for key in of.keys() - untold} for of in (rest, latest, every))
    assert {key: plain(rest[key], exit_code="") for key in latest} == {
        key: plain(one, exit_code="") for key, one in latest.items()
    }
    # A question with any condition brings the earlier attempts as well, also from 22.05.
    assert rest.keys() == every.keys() and len(every) > len(latest)
    assert {key: plain(one, exit_code="") for key, one in rest.items()} == {
        key: plain(one, exit_code="") for key, one in every.items()
    }
    wrong = {key for key, one in rest.items() if one.exit_code != every[key].exit_code}
    assert wrong and all(not every[key].exit_code.startswith("0:") for key in wrong)


def test_a_question_without_any_condition_would_hide_the_earlier_attempts(lab: Lab) -> None:
    client = over_rest(lab)
    with client.rest.get(client.dialect.path("slurmdb", "jobs"), patience=Patience(120, 240)) as got:
        bare = [one.job_id for one in json_records.jobs(got.body, b"") if isinstance(one, RunRecord)]
    conditioned = [one.job_id for one in client.jobs(settled(client)) if isinstance(one, RunRecord)]
    assert bare and len(bare) == len(set(bare))
    assert len(conditioned) > len(set(conditioned))


def test_runs_over_rest_and_by_commands_are_the_same(lab: Lab) -> None:
    client = over_rest(lab)
    window = settled(client)
    by_command = list(SlurmCommands(LocalRunner()).runs(window))
    over = list(client.runs(window))
    assert len(over) == len(by_command)
    untold = {(one.job_id, one.submit_at) for one in over if isinstance(one, RunRecord) and not is_told(one.raw)}
    over, by_command = (
        [one for one in of if not isinstance(one, RunRecord) or (one.job_id, one.submit_at) not in untold]
        for of in (over, by_command)
    )
    assert sorted(plain(one, exit_code="") for one in over if isinstance(one, RunRecord)) == sorted(
        plain(one, exit_code="") for one in by_command if isinstance(one, RunRecord)
    )
    assert len(over) == len(by_command)


def _sorted(client: Any, question: str) -> list[Any]:
    return sorted(getattr(client, question)())


def test_queue_and_nodes_over_rest_are_those_of_squeue_and_scontrol(lab: Lab) -> None:
    client, commands = over_rest(lab), SlurmCommands(LocalRunner())
    for question in ("queue", "nodes"):
        theirs, ours = while_still(*(partial(_sorted, of, question) for of in (commands, client)))
        assert ours == theirs and ours


@pytest.mark.parametrize("version", ["v0.0.36", "v0.0.37", "v0.0.38"])
def test_each_version_the_daemon_serves_answers_the_same(lab: Lab, version: str) -> None:
    client, newest = over_rest(lab, version=version), over_rest(lab)
    window = settled(newest)
    keys = {(one.job_id, one.submit_at) for one in client.jobs(window) if isinstance(one, RunRecord)}
    assert keys == {(one.job_id, one.submit_at) for one in newest.jobs(window) if isinstance(one, RunRecord)}
    assert newest.dialect.name == "v0.0.38" and newest.dialect.served == (36, 37, 38)
    assert len(list(client.nodes())) == len(list(newest.nodes())) and abs(client.clock() - time.time()) < 5


def test_the_connection_test_finds_what_rest_shows_and_what_it_cannot(lab: Lab) -> None:
    findings = {one.code: one for one in over_rest(lab).probe()}
    assert [code for code, one in findings.items() if one.severity == "blocking"] == []
    ok = {"rest_version", "clock_agrees", "controller_answers", "accounting_answers", "gpus_tracked", "sees_all_jobs"}
    assert {code: findings[code].severity for code in ok} == dict.fromkeys(ok, "ok")
    assert findings["rest_attempts_visible"].severity == "ok"
    assert {"no_events_over_rest", "no_runaway_over_rest", "exit_codes_lost", "first_pull"} <= findings.keys()
    for code, one in findings.items():
        assert FINDINGS[code][0] % one.detail


def made_token(lab: Lab, user: str, tmp_path: Any) -> str:
    said = subprocess.run(
        ["scontrol", "token", f"username={user}", "lifespan=600"],
        env=lab.env,
        capture_output=True,
        text=True,
        check=True,
    )
    path = tmp_path / user
    path.write_text(said.stdout)
    return str(path)


def test_a_token_from_a_file_signs_in_and_somebody_else_s_is_refused(slurmlab: Lab, tmp_path: Any) -> None:
    url = slurmlab.env["SLURMLAB_REST_URL"]
    held = made_token(slurmlab, "lab-portal", tmp_path)
    client = connect("slurmrestd", name="lab", connection={"url": url, "token_file": held, "user": "lab-portal"})
    assert abs(client.clock() - time.time()) < 5
    assert {"rights_enough", "token_expires"} <= {one.code for one in client.probe()}
    wrong = {"url": url, "token_file": made_token(slurmlab, "lab-ada", tmp_path), "user": "lab-portal"}
    for question in ("clock", "nodes"):
        with pytest.raises(SourceFault) as caught:
            answer = getattr(connect("slurmrestd", name="lab", connection=wrong), question)()
            list(answer)
        assert caught.value.code == "refused"


@pytest.mark.django_db
def test_a_pull_over_rest_makes_the_runs_that_a_pull_by_commands_makes(lab: Lab) -> None:
    def cluster(code: str, kind: str) -> dict[str, Any]:
        scheduler = {"kind": kind, "time_zone": "UTC", "cluster_name": "lab"}
        pools = [
            {"code": f"{code}-{name}", "name": name, "partitions": [name], "accelerators": [model]}
            for name, model in (("train", "a100"), ("infer", "h100"))
        ]
        return {"code": code, "name": code, "scheduler": scheduler, "pools": pools}

    mappings = [{"cluster": code, "account": "*", "project": "all"} for code in ("cli", "api")]
    prices = [{"pool": "cli-train", "accelerator": "*", "qos": "*", "gpu_hour": "1"}]
    clusters = [cluster("cli", "slurm"), cluster("api", "slurmrestd")]
    load(ORGANISATION | {"clusters": clusters, "mappings": mappings, "prices": prices}, actor=MACHINE)
    Cluster.objects.filter(code="api").update(connection={"socket": lab.env["SLURMLAB_REST_SOCKET"]})
    since = datetime.now(UTC) - timedelta(days=1)
    until = datetime.now(UTC) - timedelta(seconds=5)
    done = {code: live.pull(code, actor=MACHINE, since_at=since, until_at=until) for code in ("cli", "api")}
    assert done["api"].records.quarantined == 0
    assert done["api"].records.new == done["cli"].records.new > 0
    same = ("job_id", "submit_at", "start_at", "end_at", "state", "outcome", "account", "user", "partition", "qos")
    same += ("nodes", "cpus", "memory_mib", "gpu_milli", "gpu_type", "job_name", "label")
    told = [run for run in Run.objects.filter(cluster__code="api") if is_told(run.raw)]
    runs = Run.objects.filter(job_id__in={run.job_id for run in told})
    rows = {code: sorted(runs.filter(cluster__code=code).values_list(*same), key=repr) for code in done}
    assert rows["api"] == rows["cli"]
    assert live.pull("api", actor=MACHINE, since_at=since).nodes == 8
