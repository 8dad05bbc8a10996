"""The client against a server that fails in every way a real one and its proxies do."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from governance.schedulers.live import SourceFault
from governance.schedulers.telemetry.client import Endpoint, Prometheus, TooMuch

GOOD = json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [1, "42"]}}).encode()


@pytest.fixture
def server():
    """A server that answers the queued (status, body), then 200; notes what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            given = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
            served.asked.append((self.path, given, dict(self.headers)))
            answer = served.queue.pop(0) if served.queue else (200, GOOD)
            status, body = answer(given) if callable(answer) else answer
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) + served.missing))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            pass

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.queue, served.asked, served.missing = [], [], 0
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{served.server_address[1]}"
    yield served
    served.shutdown()
    served.server_close()


def fault(server, **options):
    with Prometheus(Endpoint(server.url, attempts=2, **options)) as client, pytest.raises(SourceFault) as told:
        client.query("time()")
    return told.value


def test_a_passing_failure_is_asked_again(server):
    server.queue = [(503, b"busy"), (502, b"bad gateway")]
    with Prometheus(Endpoint(server.url)) as client:
        assert client.clock() == 42.0
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((401, b""), "refused"),
        ((403, b""), "refused"),
        ((400, b'{"status":"error","error":"parse error"}'), "failed"),
        ((200, b"<html>sign in</html>"), "bad_answer"),
        ((200, b'{"status":"error","error":"no such thing"}'), "failed"),
        ((200, b'{"status":"success","data":{}}'), "bad_answer"),
        (
            (200, b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":["x"]}]}}'),
            "bad_answer",
        ),
    ],
)
def test_each_way_of_failing_has_its_code(server, answer, code):
    server.queue = [answer] * 2
    assert fault(server).code == code


def test_a_server_that_stays_busy_is_unreachable(server):
    server.queue = [(503, b"busy")] * 2
    assert (fault(server).code, len(server.asked)) == ("unreachable", 2)


def test_an_answer_that_stops_in_the_middle_is_taken_as_none(server):
    server.missing = 10
    assert fault(server).code == "output_cut"


def test_a_question_that_is_too_large_is_asked_in_halves_and_joined_without_a_seam(server):
    def points(given):
        times = range(int(float(given["start"])), int(float(given["end"])) + 1, 60)
        if len(times) > 3:
            return 422, b'{"status":"error","error":"query processing would load too many samples into memory"}'
        result = [{"metric": {}, "values": [[t, "1"] for t in times]}]
        return 200, json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()

    server.queue = [points] * 40
    with Prometheus(Endpoint(server.url)) as client:
        found = client.query_range("x", 60, 1200, 60)
    assert sorted(at for _, some in found for at, _ in some) == [60.0 * n for n in range(1, 21)]


def test_a_question_of_one_point_that_is_too_large_is_a_fault(server):
    server.queue = [(422, b"too many samples")]
    with Prometheus(Endpoint(server.url)) as client, pytest.raises(TooMuch):
        client.query_range("x", 60, 60, 60)


def test_secrets_come_from_the_environment_or_a_file_and_are_sent(server, monkeypatch, tmp_path):
    (tmp_path / "token").write_text("from-a-file\n")
    monkeypatch.setenv("PROMETHEUS_PASSWORD", "from-the-environment")
    for options, sent in (
        ({"bearer": f"file:{tmp_path / 'token'}"}, "Bearer from-a-file"),
        ({"user": "portal", "password": "env:PROMETHEUS_PASSWORD"}, "Basic cG9ydGFsOmZyb20tdGhlLWVudmlyb25tZW50"),
    ):
        with Prometheus(Endpoint(server.url, **options)) as client:
            client.clock()
        headers = {name.lower(): value for name, value in server.asked[-1][2].items()}
        assert headers["authorization"] == sent


@pytest.mark.parametrize("reference", ["env:NOT_SET_ANYWHERE", "file:/nonexistent/token", "plain-secret", "env:"])
def test_a_secret_that_is_not_there_is_told_and_never_shown(reference):
    with pytest.raises(SourceFault) as told:
        Prometheus(Endpoint("http://127.0.0.1:9", bearer=reference))
    assert told.value.code == "secret_missing" and "plain-secret" not in str(told.value)


def test_nobody_there_is_unreachable():
    with Prometheus(Endpoint("http://127.0.0.1:9", attempts=2)) as client, pytest.raises(SourceFault) as told:
        client.clock()
    assert told.value.code == "unreachable"
