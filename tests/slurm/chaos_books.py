"""Run by the chaos in processes of their own, on the database of DATABASE_URL or of the home:

python -m tests.slurm.chaos_books person      sets the password of the person who looks at the operations page
python -m tests.slurm.chaos_books settle DAY  says that all is in up to DAY (UTC), then meters and posts
python -m tests.slurm.chaos_books content     prints the natural content as JSON
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup()

from django.db import connection  # noqa: E402

from governance.access.models import Person  # noqa: E402
from governance.catalogue.models import Cluster  # noqa: E402
from governance.usage import watermarks  # noqa: E402
from tests.books import settle  # noqa: E402
from tests.natural import content  # noqa: E402
from tests.slurm.chaos_portal import PASSWORD  # noqa: E402

#: What was waited for is sampled while a job waits: a later import knows the whole wait, not its classes.
FACTS = """
    SELECT day, band, cluster, pool, model, account, "user", project, qos, outcome, milligpu_seconds, cpu_seconds, cpu_only_cpu_seconds,
        cpu_only_memory_mib_seconds, node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended, unknown_gpu_runs,
        wait_quota_seconds + wait_capacity_seconds + wait_other_seconds + wait_unknown_seconds
    FROM usage_day ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"""


def person() -> None:
    """Let the operator in."""
    ops = Person.objects.get(username="ops")
    ops.set_password(PASSWORD)
    ops.save(update_fields=["password"])


def close(day: str) -> None:
    """The days before `day` are over: nothing more is to come for them."""
    cluster = Cluster.objects.get(code="lab")
    watermarks.move(cluster, "ingested", datetime.fromisoformat(day).replace(tzinfo=UTC))
    settle("lab")


def show() -> None:
    """Runs, facts and balances."""
    found = content("runs", "balances")
    with connection.cursor() as cursor:
        cursor.execute(FACTS)
        found["facts"] = cursor.fetchall()
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    {"person": person, "settle": close, "content": show}[sys.argv[1]](*sys.argv[2:])
