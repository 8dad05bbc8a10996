"""`python -m tests.bench.live_worker CLUSTER …`: a worker's process without a broker: meters what no other has claimed, cluster by cluster.

Says "ready" and begins when it reads a line; then says how many CPU seconds that took, its own and those of the database's process that
serves it (nothing where those cannot be seen). DATABASE_URL names the bench's database.
"""

from __future__ import annotations

import sys
from time import process_time

from tests.bench.scratch import start_django


def main(codes: list[str]) -> None:
    """Do the items of these clusters that are due and nobody holds."""
    start_django()
    from governance.usage.tasks import meter
    from tests.bench.stopwatch import server_seconds

    before = server_seconds()
    print("ready", flush=True)
    sys.stdin.readline()
    begin = process_time()
    for code in codes:
        meter(code)
    after = server_seconds()
    if before is not None and after is not None:
        print(process_time() - begin + after - before)


if __name__ == "__main__":
    main(sys.argv[1:])
