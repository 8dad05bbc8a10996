"""`python -m tests.bench.peak FILE`: import the file in this process alone and print its peak memory and counts as JSON.

DATABASE_URL names the bench's database.
"""

from __future__ import annotations

import json
import resource
import sys

from tests.bench.scratch import start_django


def main(path: str) -> None:
    """Import and tell."""
    start_django()
    from governance.access.actor import Actor
    from governance.usage import actions
    from tests.bench.company import CLUSTER

    (counts,) = actions.import_files(CLUSTER, [path], actor=Actor.machine("bench"))
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"mib": peak_kib / 1024, "new": counts.new}))


if __name__ == "__main__":
    main(sys.argv[1])
