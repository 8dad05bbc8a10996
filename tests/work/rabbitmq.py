"""A RabbitMQ node of the test's own, from the Debian package: own ports, own folders, one address (127.0.0.1 by default)."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = Path("/usr/lib/rabbitmq/bin")
START_SECONDS = 90


def why_not() -> str:
    """Why there can be no node here, or an empty text."""
    if not (PROGRAMS / "rabbitmq-server").exists() or shutil.which("epmd") is None:
        return "no RabbitMQ here (Debian package rabbitmq-server)"
    return ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RabbitMQ:
    """`with RabbitMQ(folder) as url:`; the node and its port mapper end with the block."""

    def __init__(self, folder: Path, address: str = "127.0.0.1") -> None:
        self.folder, self.address = folder, address
        ports = folder / "ports"
        if not ports.exists():
            folder.mkdir(parents=True)
            ports.write_text(f"{_free_port()} {_free_port()} {_free_port()} {secrets.token_hex(8)}")
        *numbers, self.password = ports.read_text().split()
        self.port, self.distribution, self.mapper = map(int, numbers)
        self.processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        """The address for BROKER_URL."""
        return f"amqp://steelyard:{self.password}@{self.address}:{self.port}//"

    def environment(self) -> dict[str, str]:
        """All that keeps the node apart from any other."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("RABBITMQ_", "ERL_"))}
        return {
            **kept,
            "HOME": str(self.folder),  # of the Erlang cookie
            "RABBITMQ_NODENAME": f"steelyard{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": self.address,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self.distribution),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 -kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_CTL_ERL_ARGS": "+S 1:1",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self.mapper),
        }

    def _start(self, *command: str) -> None:
        with (self.folder / "output").open("ab") as output:
            self.processes.append(
                subprocess.Popen(
                    command,
                    cwd=self.folder,
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            )

    def __enter__(self) -> str:
        # A user of its own: the node lets `guest` in from its own host only.
        (self.folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.default = {self.address}:{self.port}\ndefault_user = steelyard\ndefault_pass = {self.password}\n"
        )
        (self.folder / "enabled_plugins").write_text("[].\n")
        self._start("epmd", "-address", "127.0.0.1", "-port", str(self.mapper))
        self._start(str(PROGRAMS / "rabbitmq-server"))
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if time.monotonic() > deadline or self.processes[-1].poll() is not None:
                self.__exit__()
                raise AssertionError((self.folder / "output").read_text(errors="replace")[-3000:])
            time.sleep(0.2)
        return self.url

    def __exit__(self, *fault: object) -> None:
        for process in reversed(self.processes):
            try:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(20)
            except ProcessLookupError:
                continue
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self.address, self.port), timeout=2) as probe:
                probe.sendall(b"AMQP\x00\x00\x09\x01")
                probe.settimeout(2)
                return probe.recv(1) == b"\x01"  # connection.start: it speaks the protocol
        except OSError:
            return False

    def server(self) -> int:
        """The process id of the node."""
        return int((self.folder / "pid").read_text())

    def control(self, *arguments: str) -> str:
        """What `rabbitmqctl` answers."""
        command = [str(PROGRAMS / "rabbitmqctl"), *arguments]
        return subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, check=True, timeout=60
        ).stdout
