"""Questions about processes that are not our children."""

import os
import subprocess
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether `pid` runs. A zombie does not: it holds no port and no file."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state not in ("Z", "X")


def command_of(pid: int) -> str:
    """The command line of `pid`, or an empty text when it has none or it may not be read."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        pass
    try:
        asked = subprocess.run(
            ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()
