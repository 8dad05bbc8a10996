"""The background step: what it could not do stands in its work item with words and the time of the next attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation, today
from governance.quotas import actions as quotas
from governance.quotas.actions import Terms
from governance.quotas.enforcement import reads
from governance.quotas.enforcement.models import EnforcedCluster, LimitOrder
from governance.quotas.enforcement.tasks import enforce, enforce_all
from governance.work import reads as work_reads
from governance.work.models import FAILED
from tests.books import declare
from tests.schedulers.conftest import write_command

SILENT = "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)' >&2; exit 1\n"


def test_an_award_asks_for_a_round_and_a_scheduler_that_is_down_leaves_words_and_a_next_attempt(
    apart: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare()
    Cluster.objects.filter(code="bj").update(scheduler_kind="slurm", connection={"bin_dir": str(tmp_path)})
    for name in ("scontrol", "sacctmgr"):
        write_command(tmp_path, name, SILENT)
    quota = quotas.award(Terms("ocr", "train-h800", 0, 16, today(installation())), actor=Actor.machine("test"))
    asked = work_reads.of("quotas.enforce", "bj")
    assert asked is not None
    assert asked.state == "waiting"
    enforce("bj")
    item = work_reads.of("quotas.enforce", "bj")
    assert item is not None
    assert item.state == FAILED
    assert "slurmctld does not answer" in work_reads.error_words(item)
    assert item.due_at is not None
    standing = reads.standing_of([quota.number])[quota.number]
    assert standing.state == "unseen"
    assert "slurmctld does not answer" in standing.says
    assert standing.next_at == item.due_at
    assert not LimitOrder.objects.exists()
    assert not EnforcedCluster.objects.get(cluster__code="bj").is_on
    enforce_all()  # the hourly one does not shorten the pause after a fault
    again = work_reads.of("quotas.enforce", "bj")
    assert again is not None
    assert again.due_at == item.due_at
