"""The pages and endpoints that the bench opens, and as whom: what each role looks at in the large year."""

from __future__ import annotations

from typing import Any

from governance.usage.models import Run
from tests.bench.large_year import PROJECT, UNTIL

MONTH = f"{UNTIL:%Y-%m}"
DAYS = f"from={MONTH}-01&to={UNTIL}"
API_DAYS = f"from_on={MONTH}-01&to_on={UNTIL}"
WEEK = f"from_on={MONTH}-24&to_on={UNTIL}"
BARE = "/me/"
BARE_DOOR = "/api/v1/me"


def pages() -> list[tuple[str, str]]:
    """(username, address) of pages."""
    run = _run("topic-100")
    ocr = _run(PROJECT)
    return [
        *(
            (who, "/")
            for who in ("finance", "leadership", "operator", "administrator", "capacity", "vision-head", "vision-lead")
        ),
        *((who, "/") for who in ("vision-member", "auditor", "security")),
        *((who, f"/ledger/?period={MONTH}") for who in ("finance", "vision-head", "vision-member")),
        ("finance", f"/ledger/llm/{MONTH}/"),
        ("vision-head", f"/ledger/vision/{MONTH}/?by=user"),
        ("finance", f"/ledger/vision/{MONTH}/?by=day&pool=train-h800"),
        ("finance", f"/ledger/~/{MONTH}/?by=pool&project={PROJECT}"),
        ("finance", f"/ledger/~/{MONTH}/lines/"),
        ("vision-head", f"/ledger/vision/{MONTH}/lines/?project={PROJECT}"),
        *((who, "/jobs/") for who in ("operator", "vision-head", "vision-lead", "vision-member")),
        ("operator", f"/jobs/?{DAYS}&outcome=failed"),
        ("operator", f"/jobs/?{DAYS}&department=search&pool=train-a800"),
        ("operator", f"/jobs/?{DAYS}&project=topic-500"),
        ("operator", f"/jobs/?{DAYS}&pool=infer-910b"),
        ("operator", "/jobs/?from=2025-12-01&to=2026-11-30&user=topic-001-1"),
        ("finance", f"/jobs/{run}/"),
        ("vision-lead", f"/jobs/{ocr}/"),
        ("operator", f"/usage/?{DAYS}"),
        ("vision-head", f"/usage/?{DAYS}&by=project"),
        ("capacity", "/catalog/"),
        ("operator", "/catalog/?view=nodes"),
        ("operator", "/catalog/?view=models"),
        ("finance", f"/catalog/pools/train-h800/?period={MONTH}"),
        ("operator", "/catalog/nodes/bj/bj-h800-0001/"),
        ("finance", f"/projects/?period={MONTH}"),
        ("vision-head", f"/projects/?period={MONTH}"),
        ("finance", f"/projects/{PROJECT}/?period={MONTH}"),
        ("administrator", "/people/"),
        ("finance", "/reference/prices/"),
        ("finance", "/reference/mappings/"),
        ("finance", "/reference/metrics/"),
        ("operator", "/ops/"),
        ("operator", "/ops/clusters/bj/"),
        ("finance", f"/quality/?{DAYS}"),
        ("finance", "/quality/unattributed/"),
        ("finance", f"/quality/unassigned/?{DAYS}"),
        ("auditor", "/audit/"),
        ("finance", "/search/?q=ocr"),
        ("vision-head", "/search/?q=1000"),
        ("capacity", "/quotas/"),
        ("capacity", "/quotas/pools/train-h800/"),
        ("vision-lead", "/quotas/"),
        ("finance", "/exports/"),
        ("vision-head", "/notices/"),
        ("operator", "/ops/enforcement/bj/"),
        ("vision-head", "/asks/"),
        ("capacity", "/reclaim/"),
    ]


def doors() -> list[tuple[str, str]]:
    """(username, address) of endpoints."""
    cluster, job, submit = _run("topic-100").split("/")
    v1 = "/api/v1"
    return [
        ("finance", f"{v1}/departments"),
        ("finance", f"{v1}/projects"),
        ("finance", f"{v1}/mappings"),
        ("operator", f"{v1}/pools"),
        ("operator", f"{v1}/models"),
        ("operator", f"{v1}/nodes"),
        ("operator", f"{v1}/node-states"),
        ("finance", f"{v1}/prices"),
        ("finance", f"{v1}/ledger/statement?period={MONTH}"),
        ("vision-head", f"{v1}/ledger/statement?period={MONTH}&by=project,user"),
        ("finance", f"{v1}/ledger/lines?period={MONTH}"),
        ("finance", f"{v1}/ledger/trial-balance?period={MONTH}"),
        ("operator", f"{v1}/runs?{WEEK}"),
        ("vision-head", f"{v1}/runs?{API_DAYS}"),
        ("finance", f"{v1}/runs/{cluster}/{job}/{submit}"),
        ("finance", f"{v1}/usage-days?{API_DAYS}"),
        ("vision-lead", f"{v1}/usage-days?{API_DAYS}"),
        ("operator", f"{v1}/capacity-days?{API_DAYS}"),
        ("finance", f"{v1}/metric-definitions"),
        ("operator", f"{v1}/clusters"),
        ("operator", f"{v1}/clusters/bj"),
        ("operator", f"{v1}/clusters/bj/desired"),
        ("operator", f"{v1}/findings"),
        ("operator", f"{v1}/quarantine"),
        ("operator", f"{v1}/intakes"),
        ("operator", f"{v1}/work-items"),
        ("auditor", f"{v1}/audit-lines"),
    ]


def _run(project: str) -> str:
    """The last ended run of a project's first user, as its address has it."""
    rows: Any = Run.objects.filter(user=f"{project}-1", end_at__isnull=False).select_related("cluster").defer("raw")
    run = rows.order_by("-submit_at").first()
    return f"{run.cluster.code}/{run.job_id}/{int(run.submit_at.timestamp())}"
