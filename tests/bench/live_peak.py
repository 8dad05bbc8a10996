"""`python -m tests.bench.live_peak CLUSTER SINCE UNTIL`: pull the records of [SINCE, UNTIL) (ISO instants) in this process alone.

Prints seconds, peak memory and counts as JSON. DATABASE_URL names the bench's database.
"""

from __future__ import annotations

import json
import resource
import sys
from datetime import datetime
from time import perf_counter

from tests.bench.scratch import start_django


def main(code: str, since: str, until: str) -> None:
    """Pull and tell."""
    start_django()
    from governance.usage import live, pulling
    from governance.usage.actions import cluster_of

    cluster = cluster_of(code)
    scheduler = live.scheduler_of(cluster)
    begin = perf_counter()
    span = {"since_at": datetime.fromisoformat(since), "until_at": datetime.fromisoformat(until)}
    done = pulling.pull_records(cluster, scheduler, by="bench", **span)
    seconds = perf_counter() - begin
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "mib": mib, "new": done.records.new, "windows": done.windows}))


if __name__ == "__main__":
    main(*sys.argv[1:])
