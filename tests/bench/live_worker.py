"""`python -m tests.bench.live_worker CLUSTER …`: a worker's process without a broker: meters what no other has claimed, cluster by cluster.

Says "ready" and begins when it reads a line. DATABASE_URL names the bench's database.
"""

from __future__ import annotations

import sys

from tests.bench.scratch import start_django


def main(codes: list[str]) -> None:
    """Do the items of these clusters that are due and nobody holds."""
    start_django()
    from governance.usage.tasks import meter

    print("ready", flush=True)
    sys.stdin.readline()
    for code in codes:
        meter(code)


if __name__ == "__main__":
    main(sys.argv[1:])
