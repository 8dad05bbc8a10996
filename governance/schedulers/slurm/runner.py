"""Runs a scheduler's commands here or on another host by ssh, bounded in time and memory, and says how they failed.

An answer is read as a stream. It is whole only when its end has been read without a SourceFault: a command that fails
in the middle raises there, after the rows that came before.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from governance.schedulers.live import SourceFault
from governance.schedulers.slurm.words import Ended, fault_of, fault_of_silence

BLOCK = 256 * 1024
MOST_COMPLAINTS = 8 * 1024  # bytes of standard error kept; the rest is read and forgotten
MOST_TEXT = 64 * 1024 * 1024  # bytes of an answer that is held as a whole
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%-]*", re.ASCII)
_LOGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@\\-]*", re.ASCII)
# What a command needs to run here. Nothing else is handed on, least of all the portal's own secrets.
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SLURM_CONF", "SSH_AUTH_SOCK")


@dataclass(frozen=True)
class Patience:
    """How long to wait for a command, in seconds of waiting (what the reader does meanwhile does not count)."""

    silent_s: float = 180.0  # without a byte: sacct gathers all its rows before it prints the first
    total_s: float = 1_800.0


class Answer:
    """The output of a running command, to be read once; a context manager that leaves no process behind."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], patience: Patience, over_ssh: str = "") -> None:
        self.command = over_ssh or os.path.basename(argv[0])
        self._over_ssh = bool(over_ssh)
        self._patience = patience
        self._waited = 0.0  # in all
        self._silent = 0.0  # since the last byte of output; complaints are no sign of an answer
        self._complaints = bytearray()
        self.gave = 0
        try:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                bufsize=0,
                start_new_session=True,  # so that it can be ended with all its children
            )
        except FileNotFoundError:
            raise SourceFault("command_missing", command=os.path.basename(argv[0])) from None
        except PermissionError:
            raise SourceFault("command_missing", command=os.path.basename(argv[0]), words="not executable") from None
        except OSError as fault:
            raise SourceFault("failed", command=self.command, words=str(fault)) from None
        assert self._process.stdout and self._process.stderr and self._process.stdin
        self._out, self._err = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._open = {self._out, self._err}

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def tell_it(self, words: bytes) -> None:
        """Write to its standard input and close that; a command that does not listen is none of our trouble."""
        assert self._process.stdin
        try:
            if words:
                self._process.stdin.write(words)
            self._process.stdin.close()
        except BrokenPipeError:
            pass

    def read(self, size: int = BLOCK) -> bytes:
        """The next bytes; empty once, at the end of an answer that is whole. Raises SourceFault."""
        while self._out in self._open:
            ready = self._await_some()
            if self._err in ready:
                self._hear()
            if self._out in ready:
                data = os.read(self._out, min(size, BLOCK) if size > 0 else BLOCK)
                if data:
                    self.gave += len(data)
                    self._silent = 0.0
                    return data
                self._open.discard(self._out)
        self._judge()
        return b""

    def _await_some(self) -> list[int]:
        """What there is to read; raises SourceFault when the patience is at its end."""
        patience = min(self._patience.silent_s - self._silent, self._patience.total_s - self._waited)
        begin = time.monotonic()
        ready, _, _ = select.select(list(self._open), [], [], max(0.0, patience))
        passed = time.monotonic() - begin
        self._waited += passed
        self._silent += passed
        if not ready:
            self.close()
            kind = "total" if self._waited >= self._patience.total_s else "silent"
            raise fault_of_silence(self.command, self._words(), kind, self._waited)
        return ready

    def _hear(self) -> None:
        data = os.read(self._err, 65_536)
        if not data:
            self._open.discard(self._err)
        self._complaints += data[: max(0, MOST_COMPLAINTS - len(self._complaints))]

    def _words(self) -> str:
        return bytes(self._complaints).decode("utf-8", "replace").replace("\0", "\ufffd").strip()

    def _judge(self) -> None:
        """Wait for its end; raises the fault it ended with."""
        try:
            status = self._process.wait(timeout=max(1.0, min(30.0, self._patience.silent_s)))
        except subprocess.TimeoutExpired:
            self.close()
            raise fault_of_silence(self.command, self._words(), "end", self._waited) from None
        # Whoever it left behind may hold standard error open: take what is there, wait for no more.
        while self._err in self._open and select.select([self._err], [], [], 0)[0]:
            self._hear()
        fault = fault_of(Ended(self.command, status, self._words(), self.gave, self._over_ssh))
        if fault is not None:
            raise fault

    def close(self) -> None:
        """End the command and its children if they still run, and free what it holds. May be called twice."""
        process = self._process
        for kind in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is not None:
                break
            try:
                os.killpg(process.pid, kind)
                process.wait(timeout=2)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._open.clear()


class Runner(Protocol):
    """Where a scheduler's commands run."""

    def open(
        self, argv: Sequence[str], *, env: Mapping[str, str], patience: Patience = Patience(), stdin: bytes = b""
    ) -> Answer:
        """Start the command; its output is read from the Answer. Raises SourceFault."""


def text(
    runner: Runner,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    patience: Patience = Patience(60, 120),
    stdin: bytes = b"",
) -> str:
    """All a command prints, what is not UTF-8 replaced. Raises SourceFault, "bad_answer" over MOST_TEXT bytes."""
    pieces: list[bytes] = []
    with runner.open(argv, env=env, patience=patience, stdin=stdin) as answer:
        while data := answer.read():
            pieces.append(data)
            if answer.gave > MOST_TEXT:
                raise SourceFault("bad_answer", command=answer.command, words=f"more than {MOST_TEXT} bytes")
    return b"".join(pieces).decode("utf-8", "replace").replace("\0", "\ufffd")


def lines(
    runner: Runner, argv: Sequence[str], *, env: Mapping[str, str], patience: Patience = Patience()
) -> Iterator[str]:
    """The lines a command prints, without their newlines, as they come. Raises SourceFault, at the end if cut off."""
    held = b""
    with runner.open(argv, env=env, patience=patience) as answer:
        while data := answer.read():
            *whole, held = (held + data).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace").replace("\0", "\ufffd").removesuffix("\r")
            if len(held) > MOST_TEXT:
                raise SourceFault("bad_answer", command=answer.command, words=f"a line of more than {MOST_TEXT} bytes")
        if held:
            yield held.decode("utf-8", "replace").replace("\0", "\ufffd")


@dataclass(frozen=True)
class LocalRunner:
    """Runs commands on this host, as the portal's own user."""

    env: Mapping[str, str] = field(default_factory=dict)  # beside what _KEPT names, e.g. SLURM_CONF

    def open(
        self, argv: Sequence[str], *, env: Mapping[str, str], patience: Patience = Patience(), stdin: bytes = b""
    ) -> Answer:
        """As Runner.open."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        answer = Answer(argv, {**kept, "LC_ALL": "C", **self.env, **env}, patience)
        answer.tell_it(stdin)
        return answer


@dataclass(frozen=True)
class SshRunner:
    """Runs commands on another host by the system's ssh: its key known beforehand, ours by path, never a password."""

    host: str
    known_hosts: str  # path; a host that is not in it, or has another key, is refused
    user: str = ""  # empty: as ssh chooses
    port: int = 22
    identity_file: str = ""  # path; empty: the agent's keys
    env: Mapping[str, str] = field(default_factory=dict)  # set for every command there
    connect_s: int = 15

    def __post_init__(self) -> None:
        if not _HOST.fullmatch(self.host) or (self.user and not _LOGIN.fullmatch(self.user)):
            raise SourceFault("bad_connection", what="host" if not _HOST.fullmatch(self.host) else "user")
        if not 0 < self.port < 65_536:
            raise SourceFault("bad_connection", what="port")

    def argv(self, argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
        """The ssh command line; the remote command's words are quoted for the shell at the other end."""
        options = {
            "BatchMode": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": _quoted(self.known_hosts),
            "GlobalKnownHostsFile": "/dev/null",
            "UpdateHostKeys": "no",
            "PreferredAuthentications": "publickey,gssapi-with-mic,hostbased",
            "ConnectTimeout": str(self.connect_s),
            "ServerAliveInterval": "15",
            "ServerAliveCountMax": "4",
            "ClearAllForwardings": "yes",
            "ForwardAgent": "no",
            "PermitLocalCommand": "no",
            "RequestTTY": "no",
            "LogLevel": "ERROR",
        }
        if self.identity_file:
            options |= {"IdentitiesOnly": "yes", "IdentityFile": _quoted(self.identity_file)}
        there = {"LC_ALL": "C", **self.env, **env}
        remote = shlex.join(["env", *(f"{name}={value}" for name, value in sorted(there.items())), *argv])
        words = ["ssh", *(part for name, value in options.items() for part in ("-o", f"{name}={value}"))]
        words += ["-p", str(self.port), *(("-l", self.user) if self.user else ())]
        return [*words, "--", self.host, remote]

    def open(
        self, argv: Sequence[str], *, env: Mapping[str, str], patience: Patience = Patience(), stdin: bytes = b""
    ) -> Answer:
        """As Runner.open; also raises "secret_missing" where the key or the known hosts cannot be read."""
        for what, path in (("identity_file", self.identity_file), ("known_hosts", self.known_hosts)):
            if (path or what == "known_hosts") and not os.access(path, os.R_OK):
                raise SourceFault("secret_missing", what=what, path=path)
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        answer = Answer(self.argv(argv, env), kept, patience, over_ssh=os.path.basename(argv[0]))
        answer.tell_it(stdin)
        return answer


def _quoted(path: str) -> str:
    """A path as ssh's configuration reads it: quoted, and free of its % tokens."""
    return '"' + path.replace("%", "%%") + '"'
