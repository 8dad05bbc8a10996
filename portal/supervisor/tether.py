"""`tether.py PARENT COMMAND…`: become COMMAND, which the kernel then ends when PARENT dies, even by SIGKILL.

Run as a script, without Django or this package: it is there for some milliseconds only.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie and become; on systems without such a tie the command just runs."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the tie was made
        sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606  the point of the script


if __name__ == "__main__":
    main()
