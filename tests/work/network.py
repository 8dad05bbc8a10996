"""Hosts as network namespaces: each with an address of its own on a bridge, from which it can be cut off. Linux, root, iproute2."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import ExitStack, suppress


def why_not() -> str:
    """Why there can be no such network here, or an empty text."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        return "no iproute2 or util-linux here"
    try:
        with Network(1):
            return ""
    except (OSError, subprocess.SubprocessError) as fault:
        return f"no network namespaces here: {fault}"


def ip(*words: str) -> str:
    """What `ip` prints. CalledProcessError where it fails."""
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True, timeout=30).stdout


def _free_subnet() -> str:
    """The first three numbers of a /24 that no address and no route of this machine touches."""
    told = ip("-4", "-o", "addr") + ip("-4", "route")
    for number in range(1, 255):
        subnet = f"10.97.{number}"
        if f" {subnet}." not in told and not told.startswith(f"{subnet}."):
            return subnet
    raise OSError("no free subnet below 10.97")


class Network:
    """`with Network(3) as network:`; names begin with a prefix of this process, and nothing of them is left afterwards."""

    def __init__(self, hosts: int) -> None:
        self._prefix = f"sy{os.getpid()}"
        self.names = [f"host{number}" for number in range(1, hosts + 1)]
        self._undo = ExitStack()
        self.subnet = ""

    @property
    def address(self) -> str:
        """Of this machine, as the hosts see it."""
        return f"{self.subnet}.254"

    def __enter__(self) -> Network:
        self.subnet = _free_subnet()
        try:
            self._make("link", "add", self._bridge, "type", "bridge", undo=("link", "del", self._bridge))
            ip("addr", "add", f"{self.address}/24", "dev", self._bridge)
            ip("link", "set", self._bridge, "up")
            for number, name in enumerate(self.names, start=1):
                self._host(number, name)
        except BaseException:
            self._undo.close()
            raise
        return self

    def __exit__(self, *fault: object) -> None:
        self._undo.close()

    def _host(self, number: int, name: str) -> None:
        space, wire = self._space(name), self._wire(name)
        self._make("netns", "add", space, undo=("netns", "del", space))
        # Deleted by itself as well: a process that is left in the namespace would keep both ends alive.
        ends = ("type", "veth", "peer", "name", "eth0", "netns", space)
        self._make("link", "add", wire, *ends, undo=("link", "del", wire))
        ip("link", "set", wire, "master", self._bridge, "up")
        ip("-n", space, "addr", "add", f"{self.subnet}.{number}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", space, "link", "set", device, "up")

    def on(self, name: str, *command: str) -> list[str]:
        """The command line that runs `command` on the host, under the host's name."""
        named = ("unshare", "--uts", "--", "sh", "-c", 'hostname "$0" && exec "$@"', name)
        return ["ip", "netns", "exec", self._space(name), *named, *command]

    def cut(self, name: str) -> None:
        """Nothing goes to the host or comes from it any more, and nobody is told."""
        ip("link", "set", self._wire(name), "down")

    def join(self, name: str) -> None:
        """The host is on the network again."""
        ip("link", "set", self._wire(name), "up")

    def processes(self) -> list[int]:
        """What runs on any host."""
        found = [ip("netns", "pids", self._space(name)).split() for name in self.names]
        return [int(pid) for pids in found for pid in pids]

    @property
    def _bridge(self) -> str:
        return f"{self._prefix}b"

    def _space(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def _wire(self, name: str) -> str:
        return f"{self._prefix}v{self.names.index(name) + 1}"

    def _make(self, *words: str, undo: tuple[str, ...]) -> None:
        ip(*words)
        self._undo.callback(_try, undo)


def left_behind() -> list[str]:
    """Namespaces and links of this process that are still there."""
    names = [each["name"] for each in json.loads(ip("-j", "netns", "list") or "[]")]
    links = [each["ifname"] for each in json.loads(ip("-j", "link"))]
    return [name for name in (*names, *links) if name.startswith(f"sy{os.getpid()}")]


def _try(words: tuple[str, ...]) -> None:
    with suppress(subprocess.CalledProcessError):
        ip(*words)
