"""The client of slurmrestd against a real HTTP server: what it asks, what it takes, and each way to fail."""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tenacity import wait_none

from governance.schedulers.live import NodeRecord, PendingRecord, SourceFault, Window
from governance.schedulers.records import BadRecord, Outcome, RunRecord
from governance.schedulers.registry import connect
from governance.schedulers.slurm import rest_http
from governance.schedulers.slurm.rest import SlurmRest
from tests.schedulers.rest_serving import NOW, Daemon, Reply, document, errors, recorded, said, serving
from tests.schedulers.slurm_reading import answer, job

DAY = Window(NOW - 86_400, NOW)
UNSPECIFIC = {"error": "Unspecified error", "errno": -1}
BAD_TOKEN = {"error_number": 1007, "error": "Protocol authentication error", "source": "slurmdb_tres_get"}
DATABASE_DOWN = {"error_number": 7000, "error": "Unable to connect to database", "description": "Failed connecting"}
NOTHING = {"description": "Nothing found", "error_number": 9003, "error": "Nothing found with query"}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between attempts; how many there are stays as it is."""
    monkeypatch.setattr(rest_http, "BETWEEN_ATTEMPTS", wait_none())


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with serving() as one:
        yield one


def token(user: str = "portal", exp: int = 4_000_000_000) -> str:
    def part(content: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'HS256'})}.{part({'exp': exp, 'sun': user})}.c2lnbmF0dXJl"


def fault_of(question: Any) -> SourceFault:
    with pytest.raises(SourceFault) as caught:
        question()
    return caught.value


def runs(client: SlurmRest) -> list[RunRecord]:
    records = list(client.runs(DAY))
    assert all(isinstance(one, RunRecord) for one in records)
    return [one for one in records if isinstance(one, RunRecord)]


def test_jobs_are_asked_for_with_both_ends_of_the_window_and_without_their_steps(daemon: Daemon) -> None:
    daemon.on_slurmdb("jobs", Reply(answer(job())), said({"errors": [], "jobs": []}))
    assert [one.job_id for one in runs(daemon.client(cluster="lab"))] == ["4711"]
    first, second = (one.query for one in daemon.asked if one.path.endswith("jobs"))
    assert first == {
        "start_time": [f"uts{DAY.since_at}"],
        "end_time": [f"uts{DAY.until_at}"],
        "skip_steps": ["true"],
        "cluster": ["lab"],
    }
    assert second == first | {"state": ["CANCELLED"]}


def test_newer_versions_are_asked_for_every_attempt_with_whole_times_in_epochs() -> None:
    with serving(42) as daemon:
        list(daemon.client().runs(DAY))
        (asked, _) = (one for one in daemon.asked if one.path == "/slurmdb/v0.0.42/jobs/")
    assert asked.query["start_time"] == [str(DAY.since_at)]
    flags = ("skip_steps", "show_duplicates", "disable_truncate_usage_time", "scheduler_unset")
    assert {name: asked.query[name] for name in flags} == dict.fromkeys(flags, ["true"])


def test_colons_and_commas_of_a_query_are_escaped(daemon: Daemon) -> None:
    daemon.on("/anything", said({}))
    daemon.client().rest.json("/anything", {"start_time": "2026-12-01T04:30:18", "state": "CA,F D"})
    assert daemon.asked[-1].raw_query == "start_time=2026-12-01T04%3A30%3A18&state=CA%2CF%20D"


def test_a_job_cancelled_before_it_was_eligible_comes_once_and_others_are_not_doubled(daemon: Daemon) -> None:
    never = job(job_id=8, state={"current": "CANCELLED"}, nodes="None assigned", time=job()["time"] | {"start": 0})
    ended = job(job_id=9, state={"current": "CANCELLED"})
    daemon.on_slurmdb("jobs", Reply(answer(job(), ended)), Reply(answer(never, ended)))
    assert [(one.job_id, one.outcome) for one in runs(daemon.client())] == [
        ("4711", Outcome.COMPLETED),
        ("9", Outcome.CANCELLED),
        ("8", Outcome.CANCELLED),
    ]


@pytest.mark.parametrize("version, code", [(38, ""), (39, "0:0")])
def test_a_failed_run_with_a_code_of_zero_has_an_unknown_code_where_the_version_tells_none(
    version: int, code: str
) -> None:
    failed = job(state={"current": "FAILED"}, exit_code={"status": "SUCCESS", "return_code": 0})
    with serving(version) as daemon:
        daemon.on_slurmdb("jobs", Reply(answer(failed, job())), said({"jobs": []}))
        assert [one.exit_code for one in runs(daemon.client())] == [code, "0:0"]


def test_a_record_that_cannot_be_read_comes_as_bad_and_once(daemon: Daemon) -> None:
    daemon.on_slurmdb("jobs", Reply(answer(job(state={"current": "DREAMING"}), job())))
    records = list(daemon.client().runs(DAY))
    assert [type(one) for one in records] == [BadRecord, RunRecord]


@pytest.mark.parametrize("nothing", [Reply(status=204), errors(NOTHING, jobs=[]), said({"jobs": [], "errors": []})])
def test_nothing_found_is_an_empty_answer(daemon: Daemon, nothing: Reply) -> None:
    daemon.on_slurmdb("jobs", nothing)
    daemon.on_slurm("jobs", nothing)
    daemon.on_slurm("nodes", Reply(status=204))
    client = daemon.client()
    assert (list(client.runs(DAY)), list(client.queue()), list(client.nodes())) == ([], [], [])


def test_queue_and_nodes_come_as_records(daemon: Daemon) -> None:
    daemon.on_slurm("jobs", Reply(recorded("rest-jobs-v0.0.38.json")))
    daemon.on_slurm("nodes", Reply(recorded("rest-nodes-v0.0.38.json")))
    client = daemon.client()
    assert sum(isinstance(one, PendingRecord) for one in client.queue()) == 8
    assert sum(isinstance(one, NodeRecord) for one in client.nodes()) == 5


def test_rest_knows_neither_node_events_nor_runaway_jobs(daemon: Daemon) -> None:
    client = daemon.client()
    assert (list(client.events(DAY)), client.runaway()) == ([], [])


def test_the_clock_is_slurmctld_s_own(daemon: Daemon) -> None:
    assert daemon.client().told_clock() == (NOW, "slurmctld")
    daemon.on_slurm("diag", said({"statistics": {"req_time": {"set": True, "infinite": False, "number": NOW + 1}}}))
    assert daemon.client().clock() == NOW + 1
    daemon.on_slurm("diag", said({"statistics": {}}))
    assert fault_of(daemon.client().clock).code == "bad_answer"


def test_while_slurmctld_is_down_the_clock_is_the_date_of_the_answer(daemon: Daemon) -> None:
    reply = errors(UNSPECIFIC, status=500)
    daemon.on_slurm("diag", reply._replace(date="Mon, 02 Mar 2026 11:13:20 GMT"))
    assert daemon.client().told_clock() == (1_772_450_000, "slurmrestd")


def test_without_a_date_a_slurmctld_that_is_down_leaves_no_clock(daemon: Daemon) -> None:
    daemon.on_slurm("diag", errors(UNSPECIFIC, status=500))
    fault = fault_of(daemon.client().clock)
    assert (fault.code, fault.detail["daemon"]) == ("daemon_down", "slurmctld")


@pytest.mark.parametrize(
    "reply, code",
    [
        (errors(BAD_TOKEN, jobs=[]), "refused"),
        (errors(DATABASE_DOWN, jobs=[]), "daemon_down"),
        (errors(DATABASE_DOWN, status=500, jobs=[]), "daemon_down"),
        (errors({"error_number": 9000, "description": "Unknown Query field"}, status=500), "unknown_field"),
        (errors({"error_number": 2002, "error": "Access/permission denied"}, status=500), "not_permitted"),
        (Reply(b"Unable to parse query.", 400, "text/plain"), "bad_answer"),
        (Reply(b"Authentication failure", 401, "text/plain"), "refused"),
        (Reply(b"", 500, "text/plain"), "failed"),
        (Reply(b"{half", 500), "failed"),
        (Reply(b"<html>Bad gateway</html>", 502, "text/html"), "unreachable"),
        (Reply(b"<html>Sign in</html>", 200, "text/html"), "bad_answer"),
        (Reply(b'{"pings": []}'), "bad_answer"),
        (Reply(b"elsewhere", 302, "text/plain"), "bad_answer"),
        (Reply(answer(job())[:-40], promised=len(answer(job()))), "output_cut"),
        (Reply(answer(job())[:-40]), "output_cut"),
        (Reply(hang_up=True), "unreachable"),
        (Reply(b"{}", pause_s=3), "timed_out"),
        (Reply(b'{"jobs": []}' + b" " * 400, drip_s=0.02), "timed_out"),
    ],
)
def test_each_way_to_fail_is_a_fault_with_words_and_without_a_record(daemon: Daemon, reply: Reply, code: str) -> None:
    daemon.on_slurmdb("jobs", reply)
    begin = time.monotonic()
    came = []
    with pytest.raises(SourceFault) as caught:
        for record in daemon.client(silent_s=1, total_s=2).runs(DAY):
            came.append(record)
    assert (caught.value.code, came) == (code, [])
    assert caught.value.detail["path"] == "/slurmdb/v0.0.38/jobs"
    assert time.monotonic() - begin < 8


@pytest.mark.parametrize(
    "passing", [Reply(b"busy", 503, "text/plain"), Reply(hang_up=True), Reply(b'{"jobs": [', promised=99)]
)
def test_what_passes_is_asked_for_again_and_doubles_nothing(daemon: Daemon, passing: Reply) -> None:
    daemon.on_slurmdb("jobs", passing, passing, Reply(answer(job())), said({"jobs": []}))
    assert [one.job_id for one in runs(daemon.client())] == ["4711"]
    assert daemon.times("jobs") == 4


@pytest.mark.parametrize(
    "reply, asked",
    [
        (Reply(b"busy", 503, "text/plain"), rest_http.ATTEMPTS),
        (errors(DATABASE_DOWN), 1),
        (Reply(b"{}", pause_s=1.5), 1),
        (Reply(b"no", 401, "text/plain"), 1),
    ],
)
def test_only_what_may_pass_is_asked_for_again(daemon: Daemon, reply: Reply, asked: int) -> None:
    daemon.on_slurmdb("jobs", reply)
    fault_of(lambda: list(daemon.client(silent_s=0.5).runs(DAY)))
    assert daemon.times("jobs") == asked


def test_nobody_there_is_unreachable() -> None:
    with serving() as gone:
        client = gone.client()
    assert fault_of(client.clock).code == "unreachable"
    missing = connect("slurmrestd", name="lab", connection={"socket": "/nowhere/slurmrestd.sock"})
    assert fault_of(missing.clock).code == "unreachable"


def test_a_unix_socket_is_asked_like_an_address(tmp_path: Path) -> None:
    path = tmp_path / "slurmrestd.sock"
    with serving(unix=path) as daemon:
        client = connect("slurmrestd", name="lab", connection={"socket": str(path)})
        assert client.clock() == NOW
    assert "x-slurm-user-token" not in daemon.asked[0].headers


def test_versions_are_negotiated_and_one_that_is_named_is_spoken(daemon: Daemon) -> None:
    daemon.on("/openapi/v3", said(document(36, 37, 38, 45)))
    assert daemon.client().dialect.name == "v0.0.38"
    assert daemon.client(version="v0.0.37").dialect.name == "v0.0.37"
    assert fault_of(lambda: daemon.client(version="v0.0.42").dialect).code == "version"


def test_a_daemon_without_the_usual_document_is_asked_for_the_older_one_or_believed(daemon: Daemon) -> None:
    del daemon.replies["/openapi/v3"]
    assert fault_of(daemon.client().clock).code == "version"
    assert daemon.client(version="v0.0.38").clock() == NOW
    daemon.on("/openapi", said(document(38)))
    assert daemon.client().dialect.served == (38,)


def test_a_token_is_read_anew_for_each_question_from_its_file(daemon: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"SLURM_JWT={token()}\n")
    client = daemon.client(token_file=str(path), user="portal")
    client.clock()
    path.write_text(token(exp=4_000_000_001))
    client.clock()
    sent = [one.headers["x-slurm-user-token"] for one in daemon.asked if one.path.endswith("diag")]
    assert sent == [token(), token(exp=4_000_000_001)]
    assert {one.headers["x-slurm-user-name"] for one in daemon.asked} == {"portal"}


def test_a_refused_token_that_was_replaced_meanwhile_is_tried_again(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "token"
    path.write_text(token(exp=1))
    real = daemon.next_reply

    def replacing(asked: str) -> Reply:
        if asked.endswith("diag"):
            path.write_text(token())
        return real(asked)

    daemon.next_reply = replacing  # type: ignore[method-assign]
    daemon.on_slurm("diag", Reply(b"no", 401, "text/plain"), said({"statistics": {"req_time": NOW}}))
    assert daemon.client(token_file=str(path)).clock() == NOW


def test_a_refusal_says_when_the_token_has_expired_and_never_the_token(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_TOKEN", token(exp=1_700_000_000))
    daemon.on_slurmdb("jobs", errors(BAD_TOKEN, jobs=[]))
    fault = fault_of(lambda: list(daemon.client(token_env="LAB_TOKEN").runs(DAY)))
    assert (fault.code, fault.detail["expired_at"]) == ("refused", 1_700_000_000)
    assert token(exp=1_700_000_000) not in str(fault)


def test_a_bad_token_is_told_from_a_slurmctld_that_is_down(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", token())
    daemon.on_slurm("diag", errors(UNSPECIFIC, status=500))
    daemon.on_slurm("nodes", errors(UNSPECIFIC, status=500, nodes=[]))
    client = daemon.client(token_env="LAB_TOKEN")
    assert fault_of(client.clock).code == fault_of(lambda: list(client.nodes())).code == "daemon_down"
    daemon.on_slurmdb("tres", errors(BAD_TOKEN))
    assert fault_of(client.clock).code == fault_of(lambda: list(client.nodes())).code == "refused"


@pytest.mark.parametrize(
    "held", [None, "", "postgresql://steelyard:secret@db/core", "a.b", "a b.c.d", "x.y.z\r\nX-Other: 1"]
)
def test_nothing_but_a_web_token_is_ever_sent(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, held: str | None
) -> None:
    monkeypatch.delenv("LAB_TOKEN", raising=False)
    path = tmp_path / "token"
    if held is not None:
        monkeypatch.setenv("LAB_TOKEN", held)
        path.write_text(held)
    for client in (daemon.client(token_env="LAB_TOKEN"), daemon.client(token_file=str(path))):
        fault = fault_of(client.clock)
        assert fault.code == "secret_missing" and fault.detail["what"] in ("token_env", "token_file")
        assert "secret@" not in str(fault)
    assert daemon.asked == []


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    key, path = folder / "key.pem", folder / "certificate.pem"
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*words, "-keyout", key, "-out", path, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, key)
    return path, context


def test_a_certificate_must_be_known_unless_the_connection_says_otherwise(tmp_path: Path) -> None:
    path, context = certificate(tmp_path)
    with serving(tls=context) as daemon:
        fault = fault_of(daemon.client().clock)
        assert (fault.code, fault.detail["kind"]) == ("unreachable", "certificate")
        assert daemon.asked == []
        assert daemon.client(ca_file=str(path)).clock() == NOW
        assert daemon.client(verify=False).clock() == NOW
        assert "certificate_unchecked" in {one.code for one in daemon.client(verify=False).probe()}
        missing = fault_of(daemon.client(ca_file=str(tmp_path / "none")).clock)
    assert (missing.code, missing.detail["what"]) == ("secret_missing", "ca_file")


def test_no_proxy_of_the_environment_is_used(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert daemon.client().clock() == NOW


@pytest.mark.parametrize(
    "connection, what",
    [
        ({}, "url"),
        ({"url": "ftp://h"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://portal:hunter2@h"}, "url"),
        ({"url": "http://h?x=1"}, "url"),
        ({"url": "http://h", "socket": "/s"}, "socket"),
        ({"socket": "relative"}, "socket"),
        ({"url": "http://h", "version": "v0.0.45"}, "version"),
        ({"url": "http://h", "token": "hunter2"}, "token"),
        ({"url": "http://h", "token_env": "A=B"}, "token_env"),
        ({"url": "http://h", "token_env": "A", "token_file": "/t"}, "token_file"),
        ({"url": "http://h", "user": "a\r\nb"}, "user"),
        ({"url": "http://h", "verify": "no"}, "verify"),
        ({"url": "http://h", "total_s": -1}, "total_s"),
        ({"url": "http://h", "cluster": "a,b"}, "cluster"),
    ],
)
def test_a_connection_that_makes_no_sense_is_refused_by_its_key(connection: dict[str, Any], what: str) -> None:
    fault = fault_of(lambda: connect("slurmrestd", name="lab", connection=connection))
    assert (fault.code, fault.detail["what"]) == ("bad_connection", what)
    assert "hunter2" not in str(fault)


def test_memory_stays_flat_over_a_long_answer(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_http, "IN_MEMORY", 64 * 1024)
    one, many = json.dumps(job()).encode(), 3_000
    body = b'{"errors": [], "jobs": [' + b",".join([one] * many) + b"]}"
    daemon.on_slurmdb("jobs", Reply(body), said({"jobs": []}))
    client = daemon.client(silent_s=60, total_s=120)
    client.dialect  # noqa: B018  asked for beforehand
    tracemalloc.start()
    try:
        count = sum(1 for _ in client.runs(DAY))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == many
    assert peak < len(body) / 2, (peak, len(body))


def test_a_full_disk_is_a_fault_with_words(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(max_size: int) -> Any:
        return open("/dev/full", "wb", buffering=0)  # noqa: SIM115  the client closes it

    monkeypatch.setattr(rest_http.tempfile, "SpooledTemporaryFile", full)
    fault = fault_of(lambda: daemon.client().dialect)
    assert (fault.code, fault.detail["kind"]) == ("failed", "disk")


def test_open_files_do_not_pile_up_over_many_questions(daemon: Daemon) -> None:
    client = daemon.client()
    client.clock()
    time.sleep(0.2)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        client.clock()
    left = client.runs(DAY)
    daemon.on_slurmdb("jobs", Reply(answer(job(), job())))
    next(iter(left))
    left.close()  # type: ignore[attr-defined]
    time.sleep(0.2)
    assert len(os.listdir("/proc/self/fd")) <= before + 1
