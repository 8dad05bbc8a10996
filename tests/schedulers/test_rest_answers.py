"""What an answer of slurmrestd says of itself: whole or not, which fault, which version."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.schedulers.live import SourceFault
from governance.schedulers.slurm.rest_answers import fault_in, survey
from governance.schedulers.slurm.rest_versions import chosen, number_of
from tests.schedulers.rest_serving import document

NOTHING = {"description": "Nothing found", "error_number": 9003, "error": "Nothing found with query"}


@pytest.mark.parametrize("place", ["first", "last"])
def test_errors_are_found_before_and_behind_the_jobs_and_never_inside_them(place: str) -> None:
    inside = {"name": "errors", "errors": [{"error": "a job's own"}]}
    own = {"errors": [{"error": "the answer's own"}]}
    content = own | {"jobs": [inside] * 3} if place == "first" else {"jobs": [inside] * 3} | own
    told = survey(io.BytesIO(json.dumps(content).encode()))
    assert [one["error"] for one in told.errors] == ["the answer's own"]
    assert told.keys == {"errors", "jobs"}


@pytest.mark.parametrize(
    "body, code",
    [
        (b'{"jobs": [{"a": 1}', "output_cut"),
        (b'{"jobs": [', "output_cut"),
        (b'{"errors": [], "jobs": []', "output_cut"),
        (b"<html>sign in</html>", "bad_answer"),
        (b"[]", "bad_answer"),
        (b"7", "bad_answer"),
        (b'{"jobs": []} trailing', "bad_answer"),
        (b'{"a": ' + b"[" * 500 + b"]" * 500 + b"}", "bad_answer"),
    ],
)
def test_an_answer_that_is_not_whole_or_not_json_is_a_fault(body: bytes, code: str) -> None:
    with pytest.raises(SourceFault) as caught:
        survey(io.BytesIO(body))
    assert caught.value.code == code


@given(st.integers(min_value=1, max_value=60))
def test_no_beginning_of_a_whole_answer_passes_for_whole(cut: int) -> None:
    whole = json.dumps({"meta": {"slurm": {"cluster": "lab"}}, "errors": [], "jobs": [{"job_id": 7}]}).encode()
    with pytest.raises(SourceFault) as caught:
        survey(io.BytesIO(whole[:-cut]))
    assert caught.value.code == "output_cut"


@pytest.mark.parametrize(
    "path, status, error, code, daemon",
    [
        (
            "/slurmdb/v0.0.38/tres",
            200,
            {"error_number": 1007, "error": "Protocol authentication error"},
            "refused",
            None,
        ),
        (
            "/slurmdb/v0.0.38/tres",
            200,
            {"error_number": 7000, "error": "Unable to connect to database"},
            "daemon_down",
            "slurmdbd",
        ),
        ("/slurm/v0.0.42/jobs/", 500, {"error_number": 1800, "error": "Unable to contact"}, "daemon_down", "slurmctld"),
        ("/slurm/v0.0.38/nodes", 500, {"errno": -1, "error": "Unspecified error"}, "daemon_down", "slurmctld"),
        (
            "/slurmdb/v0.0.42/jobs/",
            500,
            {"error_number": 2002, "error": "Access/permission denied"},
            "not_permitted",
            None,
        ),
        (
            "/slurmdb/v0.0.38/jobs",
            500,
            {"error_number": 9000, "description": "Unknown Query field"},
            "unknown_field",
            None,
        ),
        (
            "/slurmdb/v0.0.41/jobs/",
            500,
            {"error_number": 1005, "error": "Protocol version has changed"},
            "version",
            None,
        ),
        ("/slurmdb/v0.0.41/jobs/", 200, {"error_number": 4711, "error": "Something new"}, "failed", None),
        ("/slurmdb/v0.0.41/jobs/", 200, {"error": "Problem talking to the database"}, "daemon_down", "slurmdbd"),
    ],
)
def test_errors_of_an_answer_are_faults_whatever_its_status(
    path: str, status: int, error: dict[str, Any], code: str, daemon: str | None
) -> None:
    fault = fault_in(path, status, [NOTHING, error])
    assert fault is not None and (fault.code, fault.detail.get("daemon")) == (code, daemon)
    assert fault.detail["words"]


@pytest.mark.parametrize(
    "error", [NOTHING, {"description": "slurmdb_jobs_get(0x7) found nothing"}, {"error": "Nothing found with query"}]
)
def test_nothing_found_is_no_fault(error: dict[str, Any]) -> None:
    assert fault_in("/slurmdb/v0.0.38/jobs", 200, [error]) is None


@pytest.mark.parametrize(
    "status, code",
    [(400, "bad_answer"), (401, "refused"), (403, "refused"), (404, "version"), (429, "unreachable")]
    + [(500, "failed"), (502, "unreachable"), (503, "unreachable"), (504, "timed_out"), (302, "bad_answer")],
)
def test_a_status_without_json_is_a_fault(status: int, code: str) -> None:
    fault = fault_in("/slurmdb/v0.0.38/jobs", status, [], "some words")
    assert fault is not None and (fault.code, fault.detail["words"]) == (code, "some words")


def test_the_newest_version_that_both_sides_know_is_spoken() -> None:
    assert chosen(document(36, 37, 38), None).name == "v0.0.38"
    assert chosen(document(41, 42, 43, 44, 45, 46), None).name == "v0.0.44"
    assert chosen(document(41, 42, 43), 41).name == "v0.0.41"
    assert chosen(document(41, 42, 43), None).served == (41, 42, 43)


def test_a_version_served_by_one_plugin_alone_is_not_spoken() -> None:
    answer = document(40, 41)
    del answer["paths"]["/slurm/v0.0.41/jobs/"]
    assert chosen(answer, None).number == 40


@pytest.mark.parametrize(
    "answer, wanted", [(document(35), None), (document(45), None), (document(38), 42), ({}, None), (None, None)]
)
def test_no_version_in_common_is_a_fault_that_names_both_sides(
    answer: dict[str, Any] | None, wanted: int | None
) -> None:
    with pytest.raises(SourceFault) as caught:
        chosen(answer, wanted)
    assert caught.value.code == "version" and caught.value.detail


def test_a_named_version_is_believed_where_no_document_can_be_read() -> None:
    assert chosen(None, 42).path("slurmdb", "jobs") == "/slurmdb/v0.0.42/jobs/"
    assert chosen(None, 38).path("slurm", "jobs") == "/slurm/v0.0.38/jobs"


def test_flags_are_asked_for_where_the_daemon_lists_them() -> None:
    assert chosen(document(38), None).flags == ("skip_steps",)
    assert set(chosen(document(42), None).flags) == {
        "skip_steps",
        "show_duplicates",
        "disable_truncate_usage_time",
        "scheduler_unset",
    }
    assert chosen(document(42, flags=("skip_steps", "show_duplicates", "users")), None).flags == (
        "skip_steps",
        "show_duplicates",
    )


@pytest.mark.parametrize("number, said", [(36, "uts1772438400"), (40, "uts1772438400"), (41, "1772438400")])
def test_instants_are_asked_for_in_a_form_that_no_zone_can_shift(number: int, said: str) -> None:
    assert chosen(document(number), None).moment(1_772_438_400) == said


@pytest.mark.parametrize("name, number", [("v0.0.38", 38), ("0.0.44", 44), ("v0.0.45", None), ("38", None), ("", None)])
def test_names_of_versions(name: str, number: int | None) -> None:
    assert number_of(name) == number
