"""A PostgreSQL of the test's own on one address: Debian's where it is installed, else the embedded one's programs."""

from __future__ import annotations

import dataclasses
import os
import secrets
import socket
from pathlib import Path

import psycopg

from portal.embedded.server_user import ServerUser, server_user

USER = "steelyard"


def _debian() -> Path | None:
    """The newest server of Debian's packages."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    return max(found, key=lambda path: int(path.parent.name), default=None)


class Database:
    """`with Database(folder, address) as server:`; passwords are scram, and only `network` is let in.

    STEELYARD_TEST_POSTGRES=embedded passes Debian's over.
    """

    def __init__(self, folder: Path, address: str, network: str) -> None:
        folder.mkdir()
        self._folder, self._address, self._network = folder, address, network
        self.password = secrets.token_urlsafe(16)
        with socket.socket() as probe:
            probe.bind((address, 0))
            self.port = int(probe.getsockname()[1])

    def url(self, name: str) -> str:
        """The address of one of its databases."""
        return f"postgresql://{USER}:{self.password}@{self._address}:{self.port}/{name}"

    def __enter__(self) -> Database:
        self._user = self._as_whom()
        self._data = self._user.folder / "data"
        self._user.take_over()
        password = self._user.folder / "password"
        password.write_text(self.password + "\n")
        self._run("initdb", "-D", self._data, "-U", USER, f"--pwfile={password}", "--encoding=UTF8", "--locale=C.UTF-8",
            "--auth=scram-sha-256", "--no-instructions", "--no-sync")  # fmt: skip
        (self._data / "pg_hba.conf").write_text(f"host all all {self._network} scram-sha-256\n")
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"\nlisten_addresses = '{self._address}'\nport = {self.port}\nunix_socket_directories = ''\nfsync = off\n"
            )
        self._run("pg_ctl", "start", "-D", self._data, "-l", self._user.folder / "server.log", "-w", "-t", "60")
        return self

    def __exit__(self, *fault: object) -> None:
        self._run("pg_ctl", "stop", "-D", self._data, "-m", "immediate", "-w")

    def make(self, name: str, like: str = "template1") -> None:
        """Make a database, a copy of another."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{like}"')

    def _as_whom(self) -> ServerUser:
        usual = server_user(self._folder)
        debian = None if os.environ.get("STEELYARD_TEST_POSTGRES") == "embedded" else _debian()
        return dataclasses.replace(usual, binaries=debian) if debian else usual

    def _run(self, program: str, *arguments: str | Path) -> None:
        done = self._user.run(program, *arguments, timeout=120)
        log = self._user.folder / "server.log"
        assert done.returncode == 0, f"{program}: {done.stderr}{log.read_text()[-2000:] if log.exists() else ''}"
