"""A year of the demo company at ten thousand cards and a thousand projects, with as many runs as are asked for.

The organisation goes through the ordinary door and the runs are metered and posted as ever; the runs themselves are made
inside the database, since ten million records would take an hour to parse.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import connection, transaction

from billing.ledger import actions as ledger
from governance.access.actor import Actor
from governance.catalogue.models import Cluster
from governance.usage import actions as usage
from governance.usage import watermarks
from governance.usage.ingest import make_partitions
from portal.demo.company import organisation
from portal.organisation.actions import load

GPUS, PROJECTS = 10_240, 1_000
FIRST_ON, UNTIL = date(2025, 12, 1), date(2026, 11, 30)
BEGIN = datetime(2025, 11, 30, 16, tzinfo=UTC)  # midnight of the first day in the billing zone
END = datetime(2026, 11, 30, 16, tzinfo=UTC)
PROJECT = "topic-001"  # of the lead and the member of vision
DEPARTMENTS = ("llm", "vision", "search", "driving", "platform", "data")
USERS = 3  # of each added project

Say = Callable[[str], None]


def build(runs: int, say: Say) -> None:
    """Fill the empty, migrated database: organisation, runs, facts, ledger."""
    actor = Actor.machine("bench")
    load(document(), actor=actor)
    say("organisation loaded")
    make_runs(runs)
    say(f"{runs:,} runs made")
    for cluster in Cluster.objects.order_by("code"):
        usage.meter(cluster.code, actor=actor)
        say(f"{cluster.code} metered")
    ledger.post(actor=actor)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    say("posted")


def document() -> dict[str, Any]:
    """The demo's organisation with projects added under its departments, each with an account of its own."""
    found = organisation(GPUS, FIRST_ON, UNTIL)
    for person in found["people"]:
        for role in person["roles"]:
            role |= {"project": PROJECT} if role.get("project") == "ocr" else {}
        for login in person.get("logins", ()):
            login["login"] = login["login"].replace("ocr", PROJECT)
    for number in range(PROJECTS - len(found["projects"])):
        code, department = f"topic-{number:03d}", DEPARTMENTS[number % len(DEPARTMENTS)]
        name = {"zh": f"课题{number:03d}", "en": f"Topic {number:03d}"}
        found["projects"].append(
            {"code": code, "name": name, "placements": [{"department": department, "from": FIRST_ON}]}
        )
        found["mappings"] += [
            {"cluster": cluster, "account": f"{department}_{number:03d}", "project": code, "from": FIRST_ON}
            for cluster in ("bj", "gz")
        ]
    return found


@transaction.atomic
def make_runs(runs: int) -> None:
    """Runs spread evenly over the year, with a few hours of wait and of run each; the last ones still run or wait."""
    make_partitions(sorted({(BEGIN + timedelta(days=n)).date().replace(day=1) for n in range(366)}))
    given: dict[str, Any] = {
        "runs": runs,
        "begin": BEGIN,
        "end": END,
        "step": (END - BEGIN).total_seconds() / runs,
        "users": USERS,
    }
    with connection.cursor() as cursor:
        cursor.execute("SELECT setseed(0.5)")
        cursor.execute(OWNERS)
        cursor.execute(SHAPES)
        cursor.execute(RUNS, given)
        cursor.execute(SPANS)
    for cluster in Cluster.objects.all():
        watermarks.move(cluster, "ingested", END)


#: Who submits: each mapped account, and with which number of it.
OWNERS = """
    CREATE TEMP TABLE owner ON COMMIT DROP AS
    SELECT m.cluster_id, m.account, p.code, row_number() OVER (PARTITION BY m.cluster_id ORDER BY m.account) - 1 AS n,
        count(*) OVER (PARTITION BY m.cluster_id) AS of
    FROM account_mapping AS m JOIN project AS p ON p.id = m.project_id WHERE m."user" = '*' AND m.qos = '*'"""
#: A hundred shapes of runs: where, on what, how many cards.
SHAPES = """
    CREATE TEMP TABLE shape ON COMMIT DROP AS
    SELECT n, c.id AS cluster_id, s.partition, s.kind, s.prefix, s.nodes,
        CASE WHEN n % 50 = 7 THEN 0 WHEN n % 10 < 5 THEN 1 WHEN n % 10 < 7 THEN 2 WHEN n % 10 < 8 THEN 4 ELSE 8 END AS cards,
        CASE WHEN n % 8 = 3 THEN 'low' WHEN n % 11 = 5 THEN 'high' ELSE 'normal' END AS qos
    FROM generate_series(0, 99) AS n
    JOIN (VALUES (0, 27, 'bj', 'train', 'h800', 'bj-h800-', 500), (27, 53, 'bj', 'train-a', 'a800', 'bj-a800-', 260),
        (53, 62, 'bj', 'infer', 'l20', 'bj-l20-', 190), (62, 84, 'bj', 'dev', 'a800', 'bj-a800-', 70),
        (84, 97, 'gz', 'train', '910b', 'gz-910b-', 190), (97, 100, 'gz', 'infer', '910b', 'gz-910b-', 30)
    ) AS s (low, high, cluster, partition, kind, prefix, nodes) ON n * 37 % 100 >= s.low AND n * 37 % 100 < s.high
    JOIN cluster AS c ON c.code = s.cluster"""
#: A user works with two shapes, mostly one, and of a project's users one does most of a day's runs.
RUNS = """
    INSERT INTO run (cluster_id, job_id, submit_at, submit_known, label, eligible_at, start_at, end_at, stop_at, state, outcome, exit_code,
        reason, account, "user", partition, qos, job_name, nodes, node_list, cpus, memory_mib, gpu_milli, gpu_type, asked_gpu_milli,
        elapsed_s, suspended_s, limit_s, restarts, db_index, sluid, flags, observed_at, digest, raw, source)
    SELECT cluster_id, job, submit_at, TRUE, job, submit_at, start_at, CASE WHEN stop_at < %(end)s THEN stop_at END,
        CASE WHEN start_at IS NOT NULL THEN least(stop_at, %(end)s) END, upper(o), o, '0:0',
        CASE WHEN n %% 9 = 0 THEN 'Resources' ELSE 'None' END, account, "user", partition, qos, 'train', 1, node, greatest(cards * 14, 4),
        greatest(cards * 100, 8) * 1024, cards * 1000, CASE WHEN cards > 0 THEN kind ELSE '' END, cards * 1000,
        CASE WHEN start_at IS NOT NULL THEN extract(epoch FROM least(stop_at, %(end)s) - start_at)::bigint END, 0, 259200, 0, n, '', '',
        least(stop_at, %(end)s), md5(job)::uuid,
        concat_ws('|', job, "user", account, partition, qos, o, submit_at, start_at, stop_at, node, 'billing=14,gres/gpu=' || cards), 0
    FROM (
        SELECT r.*, CASE WHEN start_at IS NULL THEN 'pending' WHEN stop_at >= %(end)s THEN 'running' WHEN ending < 0.08 THEN 'failed'
            WHEN ending < 0.14 THEN 'cancelled' WHEN ending < 0.16 THEN 'timeout' ELSE 'completed' END AS o
        FROM (
            SELECT q.n, q.job, q.submit_at, q.ending, s.cluster_id, s.partition, s.kind, s.cards, s.qos, w.account,
                w.code || '-' || 1 + q.u AS "user",
                s.prefix || lpad((1 + (q.v * (s.nodes - 1))::int)::text, 4, '0') AS node,
                CASE WHEN q.submit_at + q.wait < %(end)s THEN q.submit_at + q.wait END AS start_at,
                CASE WHEN q.submit_at + q.wait < %(end)s THEN q.submit_at + q.wait + q.lasting END AS stop_at
            FROM (
                SELECT n, (1000000 + n)::text AS job, random() AS v, random() AS ending, floor(power(random(), 2) * 1000)::int AS who,
                    CASE WHEN random() < 0.8 THEN (n * %(step)s / 86400)::int ELSE n END %% %(users)s AS u, (random() < 0.3)::int AS other,
                    date_trunc('second', %(begin)s::timestamptz + n * %(step)s * interval '1 second') AS submit_at,
                    make_interval(secs => floor(-ln(1 - random()) * 1500)) AS wait,
                    make_interval(secs => least(floor(60 - ln(1 - random()) * 9000), 259200)) AS lasting
                FROM generate_series(0, %(runs)s - 1) AS n
            ) AS q
            JOIN shape AS s ON s.n = (q.who * 31 + q.u * 17 + q.other * 53) %% 100
            JOIN owner AS w ON w.cluster_id = s.cluster_id AND w.n = q.who %% w.of
        ) AS r
    ) AS x"""
SPANS = """
    INSERT INTO run_span (cluster_id, month, min_start_at, max_stop_at)
    SELECT cluster_id, date_trunc('month', submit_at AT TIME ZONE 'UTC')::date, min(start_at), max(stop_at) FROM run GROUP BY 1, 2"""
