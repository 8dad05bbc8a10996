"""Whose a series is: both spellings of Kubernetes' labels, Slurm's mapping, slices, the exporter's own pod, other makers' exporters."""

from __future__ import annotations

import json

import pytest

from governance.schedulers.telemetry.labels import Owner, label_map, named_maps
from governance.schedulers.telemetry.parse import BadRecord, Blank, Sample, answer, csv_samples, samples_of, series_in
from tests.books import SHARED

CARD = {"Hostname": "gpu001", "UUID": "GPU-a", "gpu": "0", "instance": "10.0.0.1:9400"}
EXPORTER = {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x1", "container": "nvidia-dcgm-exporter"}


@pytest.mark.parametrize(
    ("name", "labels", "owner"),
    [
        ("dcgm-slurm", {**CARD, "hpc_job": "4711"}, Owner("gpu001", "GPU-a", "4711")),
        ("dcgm-slurm", CARD, Owner("gpu001", "GPU-a", "")),
        ("dcgm-slurm", {**CARD, "GPU_I_ID": "3", "hpc_job": "8"}, Owner("gpu001", "GPU-a/3", "8")),
        ("dcgm-slurm", {"instance": "10.0.0.1:9400", "gpu": "2", "hpc_job": "8"}, Owner("10.0.0.1:9400", "2", "8")),
        ("dcgm-slurm", {"hpc_job": "8", "UUID": "GPU-a"}, None),
        (
            "dcgm-kubernetes",
            {**CARD, "namespace": "ocr", "pod": "train-0", "container": "main"},
            Owner("gpu001", "GPU-a", "ocr/train-0"),
        ),
        ("dcgm-kubernetes", {**CARD, **EXPORTER}, Owner("gpu001", "GPU-a", "")),
        (
            "dcgm-kubernetes",
            {**CARD, **EXPORTER, "exported_namespace": "ocr", "exported_pod": "train-0", "exported_container": "main"},
            Owner("gpu001", "GPU-a", "ocr/train-0"),
        ),
        (
            "npu-exporter",
            {"node": "n1", "vdie_id": "D0", "namespace": "ocr", "pod_name": "t-0"},
            Owner("n1", "D0", "ocr/t-0"),
        ),
        ("npu-exporter", {"node": "n1", "id": "3", "namespace": "", "podName": ""}, Owner("n1", "3", "")),
        (
            "dcu-exporter",
            {"Hostname": "n1", "device_id": "9", "dcu_pod_namespace": "ocr", "dcu_pod_name": "t"},
            Owner("n1", "9", "ocr/t"),
        ),
    ],
)
def test_labels_name_node_card_and_job(name, labels, owner):
    assert named_maps()[name].owner(labels) == owner


def test_a_map_of_ones_own_may_lean_on_another():
    own = label_map("ours", {"like": "dcgm-slurm", "job": [["slurm_id"]], "node": ["machine"]})
    assert own.owner({"machine": "m1", "UUID": "u", "slurm_id": "5"}) == Owner("m1", "u", "5")


@pytest.mark.parametrize("given", [{}, {"like": "nothing"}, {"like": "dcgm-slurm", "activity": [{"metric": "x"}]}])
def test_a_map_that_cannot_work_is_refused(given):
    with pytest.raises(ValueError):
        label_map("ours", given)


def test_percent_ratio_and_bytes_come_out_in_one_unit():
    labels = {**CARD, "hpc_job": "1"}
    body = [
        {"metric": {**labels, "__name__": "DCGM_FI_DEV_GPU_UTIL"}, "value": [10, "50"]},
        {"metric": {**labels, "__name__": "DCGM_FI_PROF_SM_ACTIVE"}, "value": [10, "0.25"]},
        {"metric": {**labels, "__name__": "DCGM_FI_DEV_FB_USED"}, "value": [10, "2147483632"]},
        {"metric": {**labels, "__name__": "DCGM_FI_DEV_XID_ERRORS"}, "value": [10, "0"]},
        {"metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL", "hpc_job": "1"}, "value": [10, "0"]},
    ]
    text = json.dumps({"status": "success", "data": {"resultType": "vector", "result": body}}).encode()
    half, quarter, blank, unknown, nobody = samples_of(answer(text), named_maps()["dcgm-slurm"])
    assert half == Sample(Owner("gpu001", "GPU-a", "1"), "activity", 2, 10.0, 0.5)
    assert (quarter.rank, quarter.value) == (0, 0.25)
    assert isinstance(blank, Blank)
    assert isinstance(unknown, BadRecord) and unknown.code == "unknown_metric"
    assert isinstance(nobody, BadRecord) and nobody.code == "no_owner"


def test_csv_says_of_each_row_what_is_wrong_with_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "time,node,card,job,activity_percent,power_w\n"
        "1000,n1,0,7,50,300\n2026-03-01T08:00:00+08:00,n1,0,7,,250\n2026-03-01T08:00:00,n1,0,7,1,1\n1000,,0,7,1,1\n1000,n1,0,7,many,1\n1000,n1\n"
    )
    with path.open("rb") as source:
        found = list(csv_samples(source))
    assert [s.value for s in found if isinstance(s, Sample)] == [0.5, 300.0, 250.0, 1.0]
    assert [r.code for r in found if isinstance(r, BadRecord)] == [
        "bad_time",
        "no_owner",
        "bad_number",
        "wrong_column_count",
    ]


@pytest.mark.real_data
@pytest.mark.skipif(
    not (SHARED / "data/nvidia-aicr-dcgm").is_dir(), reason="the real records are not beside the project"
)
def test_of_sixteen_real_cards_one_has_a_workload_and_fifteen_carry_the_exporters_own_pod():
    by = named_maps()["dcgm-kubernetes"]
    with (SHARED / "data/nvidia-aicr-dcgm/prometheus_query_DCGM_FI_DEV_GPU_UTIL.json").open("rb") as source:
        found = list(samples_of(series_in(source), by))
    assert len(found) == 16
    owners = [s.owner for s in found if isinstance(s, Sample)]
    assert [o.job for o in owners if o.job] == ["dynamo-workload/vllm-agg-0-vllmdecodeworker-s65j5"]
    assert len({o.card for o in owners}) == 16 and {s.value for s in found} == {0.0}
