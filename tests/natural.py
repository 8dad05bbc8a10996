"""The natural content of the books: ordered natural columns, without ids, raw text, sources or bookkeeping times."""

from __future__ import annotations

from typing import Any

from django.db import connection

RUNS = """
    SELECT c.code, job_id, submit_at, submit_known, label, eligible_at, start_at, end_at, stop_at, state, outcome, exit_code, reason,
        account,
        "user", partition, qos, r.job_name, nodes, node_list, cpus, memory_mib, gpu_milli, gpu_type, asked_gpu_milli, elapsed_s,
        suspended_s,
        limit_s, restarts, db_index, sluid
    FROM run r JOIN cluster c ON c.id = r.cluster_id ORDER BY 1, 2, 3"""
FACTS = 'SELECT * FROM usage_day ORDER BY day, band, cluster, pool, model, account, "user", project, qos, outcome'
CAPACITY = "SELECT * FROM capacity_day ORDER BY day, cluster, pool, model"
BALANCES = """
    SELECT used_on, band, cluster, project, department, "user", pool, model, qos, charge_kind, measure, sum(quantity), sum(amount)
    FROM line GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 HAVING sum(quantity) <> 0 OR sum(amount) <> 0
    ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"""
WATERMARKS = "SELECT c.code, stage, until_at FROM watermark w JOIN cluster c ON c.id = w.cluster_id ORDER BY 1, 2"
QUARANTINE = "SELECT c.code, raw, q.code FROM quarantined_record q JOIN cluster c ON c.id = q.cluster_id ORDER BY 1, 2"


def content(*parts: str) -> dict[str, list[tuple[Any, ...]]]:
    """The books' content, by part (all unless some are named)."""
    every = {
        "runs": RUNS,
        "facts": FACTS,
        "capacity": CAPACITY,
        "balances": BALANCES,
        "watermarks": WATERMARKS,
        "quarantine": QUARANTINE,
    }
    found = {}
    with connection.cursor() as cursor:
        for name in parts or every:
            cursor.execute(every[name])
            found[name] = cursor.fetchall()
    return found
