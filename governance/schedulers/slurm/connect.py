"""A cluster's connection, as it is kept, turned into a client of Slurm's commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from governance.schedulers.live import SourceFault
from governance.schedulers.slurm.commands import SlurmCommands
from governance.schedulers.slurm.runner import LocalRunner, Patience, Runner, SshRunner

TEXTS = frozenset({"host", "user", "identity_file", "known_hosts", "cluster", "bin_dir", "slurm_conf"})
NUMBERS = frozenset({"port", "silent_s", "total_s"})


def connect_commands(name: str, connection: Mapping[str, Any]) -> SlurmCommands:
    """Slurm's commands on this host, or by ssh where the connection has a `host`.

    Keys, all optional: host, user, port, identity_file (path), known_hosts (path, needed with a host), cluster (Slurm's
    name where the host serves several), bin_dir, slurm_conf (paths there), silent_s and total_s (patience with long
    answers, seconds). `name` is the portal's, for messages. Raises SourceFault("bad_connection", what=key).
    """
    given = {key: value for key, value in connection.items() if value not in (None, "")}
    for key, value in given.items():
        fits = isinstance(value, str) if key in TEXTS else key in NUMBERS and type(value) in (int, float) and value > 0
        if not fits or (isinstance(value, str) and ("\0" in value or "\n" in value)):
            raise SourceFault("bad_connection", what=key, name=name)
    env = {"SLURM_CONF": given["slurm_conf"]} if "slurm_conf" in given else {}
    runner: Runner
    if "host" in given:
        if "known_hosts" not in given:
            raise SourceFault("bad_connection", what="known_hosts", name=name)
        runner = SshRunner(
            host=given["host"],
            known_hosts=given["known_hosts"],
            user=given.get("user", ""),
            port=int(given.get("port", 22)),
            identity_file=given.get("identity_file", ""),
            env=env,
        )
    else:
        runner = LocalRunner(env)
    usual = Patience()
    patience = Patience(given.get("silent_s", usual.silent_s), given.get("total_s", usual.total_s))
    return SlurmCommands(runner, cluster=given.get("cluster", ""), bin_dir=given.get("bin_dir", ""), patience=patience)
