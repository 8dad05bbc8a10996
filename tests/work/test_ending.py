"""Beat that is told to end ends, however often it is told: a kernel and a supervisor may both say so."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from governance.work import reads
from tests.work.hosts import Hosts, until


@pytest.fixture
def hosts(committed: None, tmp_path: Path) -> Iterator[Hosts]:
    """Hosts without a broker."""
    hosts = Hosts(tmp_path, "memory://")
    try:
        yield hosts
    finally:
        hosts.close()


def test_a_beat_that_is_told_to_end_many_times_at_once_ends_and_gives_up_its_lease(hosts: Hosts) -> None:
    beat = hosts.beat()
    until(lambda: reads.processes("beat"), 60, hosts.said)
    for _ in range(400):
        beat.send_signal(signal.SIGTERM)
        time.sleep(0.0005)
    try:
        beat.wait(20)
    except subprocess.TimeoutExpired:
        pytest.fail("beat does not end:\n" + hosts.said())
    assert reads.processes("beat") == []
