"""Real records of real sites, read in place: what each file holds, and figures checked by hand.

The counts were taken from the files with jq, awk and grep, not with the reader.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from governance.schedulers.errors import UnreadableSource
from governance.schedulers.files import ReadOptions, open_source, read
from governance.schedulers.records import BadRecord, Flag, RunRecord, Skipped
from tests.schedulers.slurm_reading import SHARED, needs_shared, read_path, runs_of

pytestmark = [pytest.mark.real_data, needs_shared]

# file, format, runs, steps skipped, quarantined, runs with an unknown count of GPUs
FILES = [
    ("data/meta-gcm-slurm/sample-sacct-fake-line-break-expected.txt", "sacct", 2, 2, 0, 0),
    ("data/meta-gcm-slurm/sample-sacct-fake-line-break.txt", "sacct", 2, 2, 0, 0),
    ("data/meta-gcm-slurm/sample-sacct-one-multiline-expected.txt", "sacct", 2, 2, 0, 0),
    ("data/meta-gcm-slurm/sample-sacct-one-multiline.txt", "sacct", 2, 2, 0, 0),
    ("data/meta-gcm-slurm/sample-sacct-output-with-invalid-lines.txt", "sacct", 0, 0, 1, 0),
    ("data/meta-gcm-slurm/sample-sacct-output.txt.gz", "sacct", 0, 68, 0, 0),
    ("data/meta-gcm-slurm/sample-sacct-running-output.txt", "sacct", 0, 10, 0, 0),
    ("data/mila-clockwork-slurm/sacct_1.json", "sacct-json", 2, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/fromage_1706227200.json.gz", "sacct-json", 9, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/fromage_1708819200.json.gz", "sacct-json", 8, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/fromage_1711411200.json.gz", "sacct-json", 10, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/fromage_1714003200.json.gz", "sacct-json", 13, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/fromage_1716595200.json.gz", "sacct-json", 13, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/mila_1706227200.json.gz", "sacct-json", 7, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/mila_1708819200.json.gz", "sacct-json", 7, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/mila_1711411200.json.gz", "sacct-json", 7, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/mila_1714003200.json.gz", "sacct-json", 8, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_25.05.2/mila_1716595200.json.gz", "sacct-json", 7, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_outputs/slurm_21_8_8.json", "sacct-json", 1, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_outputs/slurm_22_5_9.json", "sacct-json", 1, 0, 0, 0),
    ("data/mila-sarc-sacct-json/sacct_outputs/slurm_23_11_5.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-archived.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-completed.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-failed.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-archived.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-completed.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-gres.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-multi-nodes.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-multi-types.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-pending.json", "sacct-json", 0, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-per-node.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-per-socket.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-per-task.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-running.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-gpus-type.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-pending.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-running.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.05/0.0.41/slurmdb-job-timeout.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-archived.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-completed.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-failed.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-archived.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-completed.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-gres.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-multi-nodes.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-multi-types.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-pending.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-per-node.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-per-socket.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-per-task.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-running.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-gpus-type.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-pending.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-running.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/24.11/0.0.42/slurmdb-job-timeout.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-archived.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-completed.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-failed.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-archived.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-completed.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-gres.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-multi-nodes.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-multi-types.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-pending.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-per-node.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-per-socket.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-per-task.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-running.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-gpus-type.json", "sacct-json", 1, 0, 0, 1),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-pending.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-running.json", "sacct-json", 1, 0, 0, 0),
    ("data/slurm-web-slurmrestd/25.05/0.0.43/slurmdb-job-timeout.json", "sacct-json", 1, 0, 0, 0),
    ("slurmlab/captures/rest-slurmdb-jobs-skip_steps.json", "sacct-json", 9, 0, 0, 0),
    ("slurmlab/captures/rest-slurmdb-jobs.json", "sacct-json", 2, 0, 0, 0),
    ("slurmlab/captures/sacct-D.json", "sacct-json", 2, 0, 0, 0),
    ("slurmlab/captures/sacct-X-D.txt", "sacct", 54, 0, 0, 0),
    ("slurmlab/captures/sacct-X-cancelled.txt", "sacct", 3, 0, 0, 0),
    ("slurmlab/captures/sacct-X.txt", "sacct", 51, 0, 0, 0),
    ("slurmlab/captures/sacct-all-fields.txt", "sacct", 22, 0, 0, 0),
    ("slurmlab/captures/sacct-epoch.txt", "sacct", 51, 0, 0, 47),
    ("slurmlab/captures/sacct.json", "sacct-json", 22, 0, 0, 0),
    ("slurmlab/captures/sacct.txt", "sacct", 51, 49, 0, 0),
]

# file and code: captures and answers that hold no jobs
REFUSED = [
    ("slurmlab/captures/sacct-default.txt", "no_known_columns"),  # columns of fixed width, names cut
    ("slurmlab/captures/sacct-helpformat.txt", "no_known_columns"),  # names of fields, no table
    ("slurmlab/captures/sacct-timezone.txt", "missing_columns"),  # no State
    ("slurmlab/captures/sacct-usage.txt", "missing_columns"),  # neither Submit nor Start
    ("slurmlab/captures/sacctmgr-assoc.txt", "no_known_columns"),
    ("slurmlab/captures/rest-slurmdb-accounts.json", "no_jobs"),
    ("slurmlab/captures/rest-slurmdb-associations.json", "no_jobs"),
    ("slurmlab/captures/rest-slurmdb-qos.json", "no_jobs"),
]

LAB, WEB = "slurmlab/captures/", "data/slurm-web-slurmrestd/"
SARC, GCM = "data/mila-sarc-sacct-json/", "data/meta-gcm-slurm/"
PHILLIPS = "data/xdmod-slurm-sacct/phillips.sacct.log.gz"

# file and job id: (label, submit, start, end, outcome, nodes, CPUs, MiB),
# (milli GPUs, their type, milli GPUs asked for, limit in seconds, account, exit code)
CHECKED = {
    (PHILLIPS, "163485"): (
        ("163485", 1482390912, 1482390913, 1483303339, "cancelled", 1, 12, 31000),
        (2000, "", 0, 3247200, "chaff", "0:0"),
    ),
    (PHILLIPS, "165381"): (
        ("165381", 1482869521, 1482869521, 1483301547, "timeout", 8, 64, 64000),
        (0, "", 0, 432000, "chaff", "1:0"),
    ),
    (PHILLIPS, "185113"): (
        ("185113", 1483165849, None, 1483203202, "cancelled", 0, 0, 0),
        (0, "", 0, 108000, "taifl", "0:0"),
    ),
    (GCM + "sample-sacct-one-multiline.txt", "201729"): (
        ("201729", 1673735314, 1673751670, 1673831066, "failed", 128, 12288, 0),
        (1024000, "", 1024000, 604800, "project", "6:0"),
    ),
    (GCM + "sample-sacct-fake-line-break.txt", "201844"): (
        ("201844", 1673766955, 1673766956, 1673854312, "cancelled", 32, 2048, 0),
        (256000, "", 256000, 259200, "project1", "0:0"),
    ),
    (LAB + "sacct-X.txt", "9"): (
        ("9", 1796099418, 1796099419, 1796099422, "completed", 4, 32, 128000),
        (32000, "a100", 32000, 3600, "nlp", "0:0"),
    ),
    (LAB + "sacct-X.txt", "27"): (
        ("27", 1796099420, None, 1796099460, "timeout", 0, 0, 0),
        (0, "", 1000, 60, "search", "1:0"),
    ),
    (LAB + "sacct-X.txt", "51"): (
        ("48_0", 1796099423, 1796099423, None, "running", 1, 1, 4000),
        (1000, "a100", 1000, 3600, "nlp", "0:0"),
    ),
    (LAB + "sacct.json", "13"): (
        ("12+1", 1796099418, 1796099420, 1796099422, "completed", 1, 1, 4000),
        (2000, "h100", 2000, 3600, "search", "0:0"),
    ),
    (LAB + "sacct.json", "17"): (
        ("17", 1796099418, 1796099420, 1796099420, "failed", 1, 1, 4000),
        (1000, "a100", 1000, 3600, "search", "0:11"),
    ),
    (LAB + "sacct.json", "49"): (
        ("49", 1796099423, None, None, "pending", 0, 0, 0),
        (0, "", 1000, 3600, "ads", "0:0"),
    ),
    (LAB + "rest-slurmdb-jobs.json", "45"): (
        ("45", 1796099423, 1796099423, None, "running", 1, 1, 4000),
        (8000, "h100", 8000, 28800, "ads", "0:0"),
    ),
    (LAB + "rest-slurmdb-jobs.json", "49"): (
        ("49", 1796099423, None, None, "pending", 0, 0, 0),
        (0, "", 1000, 3600, "ads", "0:0"),
    ),
    (LAB + "rest-slurmdb-jobs-skip_steps.json", "5"): (
        ("5", 1796099418, 1796099419, 1796099421, "completed", 1, 1, 4000),
        (2000, "a100", 2000, 3600, "vision", "0:0"),
    ),
    (SARC + "sacct_outputs/slurm_21_8_8.json", "55978384"): (
        ("55978384", 1673275023, 1673275023, 1673369386, "cancelled", 1, 4, 40960),
        (1000, "", 1000, 86400, "rrg-groupa-ad_gpu", "0:0"),
    ),
    (SARC + "sacct_outputs/slurm_22_5_9.json", "20247445"): (
        ("20247445_100", 1692160813, 1693740641, 1693865044, "failed", 4, 96, 262144),
        (16000, "", 16000, 172800, "rrg-groupa-ad_gpu", "0:0"),
    ),
    (SARC + "sacct_outputs/slurm_23_11_5.json", "4"): (
        ("4", 1613725209, 1613725209, None, "running", 1, 4, 32768),
        (2000, "", 2000, 432000, "mila", "0:0"),
    ),
    (SARC + "sacct_25.05.2/fromage_1706227200.json.gz", "2"): (
        ("2", 1706190420, 1706206430, 1706207522, "completed", 1, 1, 4096),
        (1000, "v100", 1000, 3600, "rrg-bonhomme-ad_gpu", "0:0"),
    ),
    (SARC + "sacct_25.05.2/fromage_1706227200.json.gz", "6"): (
        ("6", 1706152080, None, None, "pending", 0, 0, 0),
        (0, "", 1000, 14400, "rrg-bonhomme-ad_cpu", ""),
    ),
    (SARC + "sacct_25.05.2/fromage_1706227200.json.gz", "8"): (
        ("8", 1706172485, 1706194461, None, "running", 1, 2, 4096),
        (2000, "v100", 2000, 86400, "rrg-bonhomme-ad_cpu", ""),
    ),
    ("data/mila-clockwork-slurm/sacct_1.json", "10"): (
        ("1_7", 1680193479, 1680193504, None, "node_failure", 1, 4, 40960),
        (1000, "", 1000, 86400, "def-cerise-rrg", "0:0"),
    ),
    ("data/mila-clockwork-slurm/sacct_1.json", "20"): (
        ("2_0", 1680127990, 1680127992, 1680215981, "cancelled", 1, 4, 40960),
        (1000, "", 1000, 86400, "def-cerise-rrg", "0:0"),
    ),
    (WEB + "24.05/0.0.41/slurmdb-job-timeout.json", "649717"): (
        ("649717", 1747754465, 1747754466, 1747754549, "timeout", 1, 1, 512),
        (0, "", 0, 60, "optic", "0:0"),
    ),
    (WEB + "24.05/0.0.41/slurmdb-job-gpus-archived.json", "3"): (
        ("3", 1762529005, 1762529006, 1762529037, "completed", 1, 1, 512),
        (None, "", None, 60, "acoustic", "0:0"),
    ),
    (WEB + "24.05/0.0.41/slurmdb-job-gpus-type.json", "12"): (
        ("12", 1762529691, 1762529691, None, "running", 1, 0, 0),
        (None, "", None, None, "acoustic", "0:0"),
    ),
    (WEB + "24.11/0.0.42/slurmdb-job-completed.json", "6362"): (
        ("6362", 1762788774, 1762788776, 1762788837, "completed", 1, 32, 16384),
        (0, "", 0, 120, "biology", "0:0"),
    ),
    (WEB + "24.11/0.0.42/slurmdb-job-gpus-multi-nodes.json", "6371"): (
        ("6371", 1762788887, 1762788887, None, "running", 2, 2, 1024),
        (None, "", None, 60, "biology", "0:0"),
    ),
    (WEB + "24.11/0.0.42/slurmdb-job-failed.json", "6359"): (
        ("6359", 1762788769, 1762788770, 1762788771, "failed", 1, 1, 512),
        (0, "", 0, 60, "biology", "1:0"),
    ),
    (WEB + "25.05/0.0.43/slurmdb-job-archived.json", "2194"): (
        ("2194", 1762637321, 1762637323, 1762637683, "completed", 2, 2, 1024),
        (None, "", None, 7200, "admin", "0:0"),
    ),
    (WEB + "25.05/0.0.43/slurmdb-job-gpus-type.json", "4729"): (
        ("4729", 1762788992, 1762788993, None, "running", 1, 1, 512),
        (None, "", None, 60, "biology", "0:0"),
    ),
    (WEB + "25.05/0.0.43/slurmdb-job-running.json", "4739"): (
        ("4739", 1762789009, 1762789062, None, "running", 1, 32, 16384),
        (0, "", 0, 120, "biology", "0:0"),
    ),
}


@pytest.mark.parametrize(("path", "format", "runs", "steps", "quarantined", "unknown"), FILES)
def test_each_file_gives_all_its_records(
    path: str, format: str, runs: int, steps: int, quarantined: int, unknown: int
) -> None:
    with open_source(str(SHARED / path)) as source:
        reading = read(source, name=path, options=ReadOptions())
        records = list(reading)
    assert reading.format == format
    counts = [sum(isinstance(one, kind) for one in records) for kind in (RunRecord, Skipped, BadRecord)]
    assert counts == [runs, steps, quarantined]
    assert sum(one.gpu_milli is None for one in runs_of(records)) == unknown


def test_no_accounting_file_is_missing_from_the_table() -> None:
    globs = [
        (SHARED / "data/slurm-web-slurmrestd").glob("*/*/slurmdb-job*"),
        (SHARED / "data/mila-sarc-sacct-json").glob("sacct_*/*"),
        (SHARED / "data/mila-clockwork-slurm").glob("sacct_*"),
        (SHARED / "data/meta-gcm-slurm").glob("sample-sacct-*"),
        *((SHARED / "slurmlab/captures").glob(name) for name in ("sacct[-.]*", "rest-slurmdb-jobs*.json")),
    ]
    found = {str(path.relative_to(SHARED)) for path in itertools.chain(*globs)}
    assert found - {row[0] for row in FILES} - {row[0] for row in REFUSED} == set()


@pytest.mark.parametrize(("path", "code"), REFUSED)
def test_captures_that_are_no_accounting_are_refused(path: str, code: str) -> None:
    with pytest.raises(UnreadableSource) as caught:
        read_path(SHARED / path)
    assert caught.value.code == code


@pytest.mark.parametrize(("path", "job_id"), CHECKED)
def test_records_checked_by_hand(path: str, job_id: str) -> None:
    options = {"fields": ("xdmod",)} if path == PHILLIPS else {}
    (one,) = [one for one in runs_of(read_path(SHARED / path, **options)) if one.job_id == job_id]
    assert (
        (one.label, one.submit_at, one.start_at, one.end_at, one.outcome, one.nodes, one.cpus, one.memory_mib),
        (one.gpu_milli, one.gpu_type, one.asked_gpu_milli, one.limit_s, one.account, one.exit_code),
    ) == CHECKED[path, job_id]


def test_broken_lines_read_as_their_glued_form() -> None:
    for name in ("fake-line-break", "one-multiline"):
        broken = runs_of(read_path(SHARED / GCM / f"sample-sacct-{name}.txt"))
        glued = runs_of(read_path(SHARED / GCM / f"sample-sacct-{name}-expected.txt"))
        assert [one._replace(raw="") for one in broken] == [one._replace(raw="") for one in glued]


def test_a_half_line_is_quarantined_with_its_widths() -> None:
    (half,) = read_path(SHARED / GCM / "sample-sacct-output-with-invalid-lines.txt")
    assert isinstance(half, BadRecord)
    assert (half.code, half.reason) == ("wrong_column_count", "109 columns expected, 93 found")


def test_a_name_with_bars_is_read_whole() -> None:
    for name in ("sacct.txt", "sacct-X.txt", "sacct-X-D.txt"):
        (one,) = [one for one in runs_of(read_path(SHARED / LAB / name)) if one.job_id == "10"]
        assert (one.job_name, one.state, one.node_list, one.gpu_milli) == ("a|b, `c` 训练", "COMPLETED", "gpu007", 1000)


def test_requeues_leave_a_run_for_every_attempt() -> None:
    attempts = [one for one in runs_of(read_path(SHARED / LAB / "sacct-D.json")) if one.job_id == "37"]
    assert [(one.submit_at, one.outcome) for one in attempts] == [
        (1796099420, "preempted"),
        (1796099423, "completed"),
    ]


def test_text_and_json_of_the_same_jobs_agree() -> None:
    texts = {one.job_id: one for one in runs_of(read_path(SHARED / LAB / "sacct-X.txt"))}
    lapse = {"raw": "", "elapsed_s": 0, "exit_code": "", "memory_mib": 0}  # asked at two moments; 22.05 loses codes
    for one in runs_of(read_path(SHARED / LAB / "sacct.json")):
        assert one._replace(**lapse) == texts[one.job_id]._replace(**lapse)  # type: ignore[arg-type]
        assert one.memory_mib == texts[one.job_id].memory_mib


def test_findings_of_real_records() -> None:
    (requeued,) = runs_of(read_path(SHARED / SARC / "sacct_outputs/slurm_21_8_8.json"))
    assert ((requeued.end_at or 0) - (requeued.start_at or 0), requeued.elapsed_s) == (94363, 86301)
    assert requeued.flags == Flag.ELAPSED_MISMATCH
    endless, short = runs_of(read_path(SHARED / "data/mila-clockwork-slurm/sacct_1.json"))
    assert (endless.flags, short.flags) == (Flag.END_MISSING, Flag.ELAPSED_MISMATCH)


def test_the_phillips_log_gives_the_published_sums() -> None:
    runs = runs_of(read_path(SHARED / PHILLIPS, fields=("xdmod",)))
    started = [(one, (one.end_at or 0) - one.start_at) for one in runs if one.start_at is not None]
    assert (len(runs), len(started)) == (4285, 4046)
    assert round(sum(one.cpus * seconds for one, seconds in started) / 3600, 4) == 11767.9883
    assert round(sum((one.gpu_milli or 0) * seconds for one, seconds in started) / 3_600_000, 4) == 506.9128
    assert round(sum(one.nodes * seconds for one, seconds in started) / 3600, 4) == 1344.8686
    assert {one.flags for one in runs} == {""} and None not in {one.gpu_milli for one in runs}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("accounting-logs.log", ["run"] * 4),
        ("accounting-logs-with-job-arrays.log", ["run"] * 6),
        ("non-ended-job-state.log", ["run"] * 2),
        ("unknown-job-state.log", ["unknown_state"] * 2),
        ("utf8-multibyte-chars.log", ["run"]),
    ],
)
def test_the_parser_cases_of_xdmod(name: str, kinds: list[str]) -> None:
    path: Path = SHARED / "data/xdmod-slurm-sacct/parser-cases/slurm/input" / name
    records = read_path(path, fields=("xdmod",))
    assert [getattr(one, "code", "run") for one in records] == kinds
