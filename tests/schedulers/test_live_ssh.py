"""Slurm's commands by ssh, against a real sshd on this host with keys of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from governance.schedulers.live import SourceFault, Window
from governance.schedulers.registry import connect
from governance.schedulers.slurm.commands import SlurmCommands
from governance.schedulers.slurm.runner import SshRunner, text
from tests.schedulers.conftest import write_command

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh") is None, reason="needs ssh and sshd (Debian: openssh-server)"
)
ME = pwd.getpwuid(os.geteuid()).pw_name


class Host(NamedTuple):
    """A host that can be reached by ssh."""

    port: int
    key: Path
    stranger: Path  # a key it does not know
    known_hosts: Path
    bin: Path  # commands on its path
    folder: Path


def _key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, capture_output=True)
    return path


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """An sshd of our own; it ends with the tests."""
    folder = tmp_path_factory.mktemp("sshd")
    commands = folder / "a bin"
    commands.mkdir()
    server, key, stranger = _key(folder / "server"), _key(folder / "key"), _key(folder / "stranger")
    (folder / "authorized").write_text(key.with_suffix(".pub").read_text())
    port = _free_port()
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {server}\nPidFile {folder}/pid\nAuthorizedKeysFile {folder}/authorized\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
        f'SetEnv "PATH={commands}:/usr/bin:/bin"\n'
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd's own condition when it is root
    process = subprocess.Popen([str(SSHD), "-D", "-e", "-f", folder / "config"], stderr=(folder / "log").open("w"))
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            pytest.fail(f"sshd does not listen: {(folder / 'log').read_text()}")
        known = folder / "known hosts"
        known.write_text(f"[127.0.0.1]:{port} {server.with_suffix('.pub').read_text()}")
        yield Host(port, key, stranger, known, commands, folder)
    finally:
        process.terminate()
        process.wait(timeout=10)


def runner(where: Host, **changed: object) -> SshRunner:
    """A runner on the host, with the right key and known hosts unless changed."""
    given = {
        "host": "127.0.0.1",
        "user": ME,
        "port": where.port,
        "identity_file": str(where.key),
        "known_hosts": str(where.known_hosts),
    }
    return SshRunner(**(given | changed))  # type: ignore[arg-type]


def code_of(one: SshRunner, *argv: str) -> str:
    """The fault with which a command ends there."""
    with pytest.raises(SourceFault) as caught:
        text(one, argv or ("true",), env={})
    return caught.value.code


def test_a_command_runs_there_with_its_words_and_its_environment_whole(host: Host) -> None:
    words = ["printf", "%s|", "a b", "it's", '"$HOME" `id` \\', "\x1f", "*", ""]
    assert text(runner(host), words, env={}) == 'a b|it\'s|"$HOME" `id` \\|\x1f|*||'
    assert (
        text(runner(host, env={"SLURM_CONF": "/a b"}), ["printenv", "SLURM_CONF", "TZ"], env={"TZ": "UTC"})
        == "/a b\nUTC\n"
    )


def test_what_a_command_is_told_reaches_it(host: Host) -> None:
    assert text(runner(host), ["cat"], env={}, stdin=b"N\n") == "N\n"


def test_the_clock_over_ssh_is_the_hosts(host: Host) -> None:
    connection = {
        "host": "127.0.0.1",
        "user": ME,
        "port": host.port,
        "identity_file": str(host.key),
        "known_hosts": str(host.known_hosts),
    }
    assert abs(connect("slurm", name="lab", connection=connection).clock() - time.time()) < 5


def test_a_host_with_another_key_is_refused(host: Host, tmp_path: Path) -> None:
    wrong = tmp_path / "known_hosts"
    wrong.write_text(f"[127.0.0.1]:{host.port} {host.stranger.with_suffix('.pub').read_text()}")
    assert code_of(runner(host, known_hosts=str(wrong))) == "host_key"


def test_a_host_that_nobody_knows_is_refused_and_not_learnt(host: Host, tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.touch()
    assert code_of(runner(host, known_hosts=str(empty))) == "host_key"
    assert empty.read_text() == ""


def test_a_key_the_host_does_not_know_is_refused(host: Host) -> None:
    assert code_of(runner(host, identity_file=str(host.stranger))) == "refused"


def test_a_file_that_is_no_key_is_refused(host: Host, tmp_path: Path) -> None:
    broken = tmp_path / "key"
    broken.write_text("not a key\n")
    broken.chmod(0o600)
    assert code_of(runner(host, identity_file=str(broken))) == "refused"


@pytest.mark.parametrize("what", ["identity_file", "known_hosts"])
def test_a_file_that_is_not_there_is_named(host: Host, what: str) -> None:
    with pytest.raises(SourceFault) as caught:
        text(runner(host, **{what: "/nowhere/file"}), ["true"], env={})
    assert (caught.value.code, caught.value.detail["what"]) == ("secret_missing", what)


def test_a_port_where_nobody_listens_is_unreachable(host: Host, tmp_path: Path) -> None:
    assert code_of(runner(host, port=_free_port())) == "unreachable"


def test_a_host_whose_name_nobody_knows_is_unreachable(host: Host) -> None:
    assert code_of(runner(host, host="nowhere.invalid")) == "unreachable"


def test_a_command_that_is_missing_there_is_told(host: Host) -> None:
    assert code_of(runner(host), "sacct-of-nowhere") == "command_missing"


def test_what_slurm_complains_of_there_is_understood(host: Host) -> None:
    write_command(
        host.bin,
        "squeue",
        "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1\n",
    )
    with pytest.raises(SourceFault) as caught:
        list(SlurmCommands(runner(host)).queue())
    assert (caught.value.code, caught.value.detail["daemon"], caught.value.detail["command"]) == (
        "daemon_down",
        "slurmctld",
        "squeue",
    )


def test_half_an_answer_from_there_is_none(host: Host) -> None:
    write_command(host.bin, "scontrol", "echo NodeName=gpu001 State=IDLE; exit 1\n")
    with pytest.raises(SourceFault, match="output_cut"):
        list(SlurmCommands(runner(host)).nodes())


def test_a_connection_that_breaks_in_the_middle_is_a_cut_answer(host: Host) -> None:
    # the command's parent is this session's sshd, its shell having given way to it
    write_command(
        host.bin,
        "scontrol",
        "echo NodeName=gpu001 State=IDLE; sleep 0.3; kill -9 $PPID; sleep 5\n",
    )
    with pytest.raises(SourceFault) as caught:
        list(SlurmCommands(runner(host)).nodes())
    assert caught.value.code == "output_cut"


def test_no_secret_stands_in_the_words_of_a_command(host: Host) -> None:
    line = " ".join(runner(host).argv(["sacct"], {}))
    assert host.key.read_text().splitlines()[1] not in line
    for option in ("BatchMode=yes", "StrictHostKeyChecking=yes", "GlobalKnownHostsFile=/dev/null", "UpdateHostKeys=no"):
        assert option in line
    assert "password" not in line.lower()


@pytest.mark.slurm
def test_the_lab_over_ssh_tells_the_same_as_here(host: Host, job_mix: dict[str, str]) -> None:
    here = connect("slurm", name="lab", connection={"slurm_conf": job_mix["SLURM_CONF"]})
    there = SlurmCommands(runner(host, env={"SLURM_CONF": job_mix["SLURM_CONF"]}), bin_dir="/usr/bin")
    until_at = here.clock() - 60
    window = Window(until_at - 600, until_at)
    ended = [[run for run in one.runs(window) if getattr(run, "end_at", None)] for one in (here, there)]  # type: ignore[attr-defined]
    assert ended[0] == ended[1]
    assert sorted(node.name for node in there.nodes()) == sorted(node.name for node in here.nodes())  # type: ignore[union-attr]
