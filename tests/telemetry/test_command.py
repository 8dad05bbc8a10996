"""The telemetry command, and that every finding has words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from governance.schedulers.telemetry.words import FINDINGS
from governance.usage.telemetry_models import RunActivity, TelemetrySource
from tests.telemetry.blocks import needs_prometheus

ROOT = Path(__file__).resolve().parents[2]


def test_every_finding_has_words_and_every_word_a_finding():
    code = re.compile(r'"(telemetry_[a-z_]+)"')
    places = [
        "governance/schedulers/telemetry/probe.py",
        "governance/usage/telemetry/actions.py",
        "governance/usage/telemetry/reads.py",
    ]
    found = {name for place in places for name in code.findall((ROOT / place).read_text())}
    assert found - {"telemetry_findings"} == set(FINDINGS)  # that is a statement of SQL


@pytest.mark.django_db
@pytest.mark.prometheus
@needs_prometheus
def test_set_probe_and_pull_from_the_command_line(prometheus, three_runs, capsys):
    call_command("telemetry", "bj", "set", prometheus, "--idle", '{"below": 0.02}')
    assert TelemetrySource.objects.get().idle_rules == {"below": 0.02}
    with pytest.raises(CommandError):  # the made-up samples are of June: now there is nothing
        call_command("telemetry", "bj", "probe")
    assert "blocking" in capsys.readouterr().out
    call_command("telemetry", "bj", "pull", "--since", "2026-06-01T20:00:00+08:00", "--json")
    assert json.loads(capsys.readouterr().out)["rows"]["new"] == RunActivity.objects.count() > 0


@pytest.mark.django_db
def test_a_cluster_without_a_source_says_so(three_runs):
    with pytest.raises(CommandError):
        call_command("telemetry", "bj", "pull")
    with pytest.raises(CommandError):
        call_command("telemetry", "bj", "set")
