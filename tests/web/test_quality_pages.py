"""The quality pages: what no mapping or pool claims, what giving it to one would move, and that it then moves just so."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from billing.ledger import reads as ledger
from billing.ledger.models import Entry, Line, Period
from governance.audit.models import AuditLine
from governance.errors import BadData, NotAllowed, NotFound, NotTheMoment
from governance.tenants.models import AccountMapping
from governance.usage.models import DirtyDay, UsageDay
from governance.work.models import WorkItem
from portal.organisation.actions import load
from portal.quality import actions
from portal.quality.changes import Change, ClaimPartition, MapAccount
from portal.quality.preview import Preview, booked_in, preview
from tests.books import MACHINE, bring, company, declare, line, settle
from tests.cast import Cast

pytestmark = pytest.mark.django_db
NOBODY = MapAccount("bj", "nobody", "*", "*", "ocr", None)
LOST = ClaimPartition("bj", "lost", "train-h800", None)
Moves = dict[tuple[str, str, str, str, str], Decimal]


def corrections(found: Preview) -> Moves:
    """The amounts that the preview says posted days will gain or lose."""
    return {
        (row.month, row.department, row.project, row.pool, row.booked_in): row.posted
        for row in found.rows
        if row.posted
    }


def hours(found: Preview) -> dict[tuple[str, str, str], int]:
    """Hours that the preview moves, by month, project and pool."""
    sums: dict[tuple[str, str, str], int] = defaultdict(int)
    for row in found.rows:
        sums[row.month, row.project, row.pool] += row.milligpu_seconds
    return {key: value for key, value in sums.items() if value}


def posted_since(last: int) -> Moves:
    """The amounts of the entries that were added after the entry `last`."""
    sums: Moves = defaultdict(Decimal)
    lines = Line.objects.filter(account_kind="department", entry__pk__gt=last).select_related("entry")
    for one in lines:
        key = (f"{one.used_on:%Y-%m}", one.department, one.project, one.pool, one.entry.period_id)
        sums[key] += one.amount
    return {key: amount for key, amount in sums.items() if amount}


def facts() -> dict[tuple[str, str, str], int]:
    """Hours by month, project and pool as they stand."""
    sums: dict[tuple[str, str, str], int] = defaultdict(int)
    for day, project, pool, milli in UsageDay.objects.values_list("day", "project_id", "pool_id", "milligpu_seconds"):
        sums[f"{day:%Y-%m}", project, pool] += milli
    return sums


def differences(now: dict[Any, int], then: dict[Any, int]) -> dict[Any, int]:
    return {key: moved for key in now.keys() | then.keys() if (moved := then.get(key, 0) - now.get(key, 0))}


def goes_as_previewed(change: Change) -> Preview:
    """Preview the change, make it, meter and post; the one says exactly what the other does."""
    before, last = facts(), max(Entry.objects.values_list("pk", flat=True), default=0)
    found = preview(change)
    assert facts() == before
    actions.apply(change, actor=MACHINE)
    settle()
    assert hours(found) == differences(before, facts())
    assert corrections(found) == posted_since(last)
    assert found.rows
    return found


def test_mapping_an_account_moves_what_the_preview_says_to_the_cent(cast: Cast) -> None:
    found = goes_as_previewed(NOBODY)
    assert found.gpu_hours == 24 * 8
    assert {row.project: row.gpu_hours for row in found.rows} == {"ocr": 192, "unattributed": -192}
    assert sum(row.posted for row in found.rows) == 0
    assert not UsageDay.objects.filter(project="unattributed").exists()
    # 192+48+4+8+48 GPU-hours at 10, one run of 64 cores and 512 GiB for 5 hours, and now 192 more.
    assert ledger.statement("2026-06", ("project",), actor=MACHINE, project="ocr").total.amount == Decimal("4977.60")


def test_a_closed_month_is_corrected_in_the_open_one(cast: Cast) -> None:
    Period.objects.filter(code="2026-06").update(state="closed")
    found = goes_as_previewed(NOBODY)
    assert found.closed_months == ["2026-06"]
    assert {row.booked_in for row in found.rows} == {"2026-07"}


def test_payer_shares_and_a_change_of_price_are_weighed_as_they_stand(cast: Cast) -> None:
    shares = {"research": "33.3333", "vision": "33.3333", "search": "33.3334"}
    document = company(
        projects=[
            {
                "code": "ocr",
                "placements": [
                    {"department": "vision", "to": date(2026, 6, 16)},
                    {
                        "department": "vision",
                        "from": date(2026, 6, 16),
                        "payers": shares,
                    },
                ],
            }
        ],
        prices=[
            {"pool": "train-h800", "accelerator": "h800", "qos": "*", "to": date(2026, 6, 16), "gpu_hour": "10.00"},
            {"pool": "train-h800", "accelerator": "h800", "qos": "*", "from": date(2026, 6, 16), "gpu_hour": "7.77"},
        ],
    )
    load(document, actor=MACHINE)
    settle()
    found = goes_as_previewed(NOBODY)
    assert {row.department for row in found.rows} == {"unattributed", "vision", "research", "search"}


def test_terms_that_changed_and_are_not_posted_yet_stay_out_of_the_preview(cast: Cast) -> None:
    prices = [{"pool": "train-h800", "accelerator": "h800", "qos": "*", "gpu_hour": "20.00"}]
    load({"steelyard": 1, "prices": prices}, actor=MACHINE)
    amounts = {row.project: row.posted for row in preview(NOBODY).rows}
    assert amounts == {"ocr": 192 * 20, "unattributed": -192 * 20}


def test_only_days_from_the_chosen_one_move(cast: Cast) -> None:
    found = goes_as_previewed(MapAccount("bj", "nobody", "zoe", "*", "ocr", date(2026, 6, 16)))
    assert found.gpu_hours == 2 * 8
    assert found.days_moved == 1
    assert UsageDay.objects.get(project="unattributed").day == date(2026, 6, 15)


def test_users_who_share_a_posting_key_are_rounded_together(tmp_path: Any) -> None:
    prices = [{"pool": "train-h800", "accelerator": "h800", "qos": "*", "gpu_hour": "0.000777"}]
    declare(prices=prices)
    rows = [
        line(
            n, "2026-06-02T08:00", "2026-06-02T09:00", f"2026-06-02T09:{n:02d}:07", gpus=1, Account=account, User="zoe"
        )
        for n, account in enumerate(("one", "two", "ocr", "one", "three"), start=11)
    ]
    bring(tmp_path, rows, observed_at="2026-07-02T00:00")
    settle()
    for account in ("one", "two", "three"):
        goes_as_previewed(MapAccount("bj", account, "*", "*", "ocr", None))


def test_claiming_a_partition_moves_what_the_preview_says(cast: Cast) -> None:
    found = goes_as_previewed(LOST)
    assert {row.pool for row in found.rows} == {"train-h800", "unassigned"}
    assert found.gpu_hours == 3
    assert sum(row.posted for row in found.rows) == 30  # it had no price in no pool
    assert not UsageDay.objects.filter(pool="unassigned").exists()


def test_a_preview_leaves_nothing_behind(cast: Cast) -> None:
    counts = lambda: [m.objects.count() for m in (AuditLine, DirtyDay, Entry, Line, AccountMapping, WorkItem, UsageDay)]  # noqa: E731
    before = counts()
    preview(NOBODY)
    preview(LOST)
    assert counts() == before
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_class WHERE relname IN ('line', 'usage_day', 'stand_in') AND relpersistence = 't'"
        )
        assert cursor.fetchone() == (0,)


def test_what_begins_later_keeps_its_days(cast: Cast) -> None:
    later = {"cluster": "bj", "account": "nobody", "project": "rank", "from": date(2026, 6, 16)}
    load({"steelyard": 1, "mappings": [later]}, actor=MACHINE)
    settle()
    found = goes_as_previewed(NOBODY)
    assert found.days_moved == 1
    spans = AccountMapping.objects.filter(account="nobody").values_list("from_on", "to_on", "project__code")
    assert set(spans) == {(None, date(2026, 6, 16), "ocr"), (date(2026, 6, 16), None, "rank")}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (MapAccount("bj", "nobody", "*", "*", "nothing", None), NotFound),
        (MapAccount("bj", "nobody", "*", "*", "unattributed", None), NotFound),
        (MapAccount("bj", "*", "*", "*", "ocr", None), BadData),
        (MapAccount("sh", "nobody", "*", "*", "ocr", None), NotFound),
        (MapAccount("bj", "ocr", "*", "*", "ocr", None), NotTheMoment),
        (ClaimPartition("bj", "", "train-h800", None), BadData),
        (ClaimPartition("bj", "lost", "unassigned", None), NotFound),
    ],
)
def test_a_change_that_cannot_be_is_refused_and_changes_nothing(cast: Cast, change: Change, error: Any) -> None:
    lines = AuditLine.objects.count()
    with pytest.raises(error):
        actions.apply(change, actor=MACHINE)
    assert AuditLine.objects.count() == lines


def test_two_pools_never_claim_a_partition_that_nothing_tells_apart(cast: Cast) -> None:
    pools = company()["clusters"][0]["pools"]
    pools.append({"code": "twin", "name": "twin", "partitions": ["lost"], "accelerators": ["h800"]})
    load({"steelyard": 1, "clusters": [{"code": "bj", "pools": pools}]}, actor=MACHINE)
    with pytest.raises(BadData, match="twin"):
        preview(LOST)


@pytest.mark.parametrize("who", ["operator", "finance", "auditor", "lead", "security"])
def test_only_who_may_change_the_organisation_maps(cast: Cast, who: str) -> None:
    with pytest.raises(NotAllowed):
        actions.apply(NOBODY, actor=cast.actor(who))


def test_a_change_is_told_in_the_audit_and_asks_for_metering(cast: Cast) -> None:
    marked = actions.apply(NOBODY, actor=cast.actor("administrator"))
    assert marked > 0
    assert DirtyDay.objects.values("day").distinct().count() == marked
    told = AuditLine.objects.get(action="quality.applied")
    assert (told.actor, told.after["account"], told.after["project"]) == ("administrator", "nobody", "ocr")
    assert AuditLine.objects.filter(action="mapping.added", actor="administrator").exists()
    assert WorkItem.objects.get(kind="usage.meter", key="bj").asked_by == "administrator"


def test_the_month_that_takes_a_correction_is_the_one_posting_takes() -> None:
    assert booked_in("2026-06", {}) == "2026-06"
    assert booked_in("2026-06", {"2026-06": "closed", "2026-07": "closed", "2026-08": "open"}) == "2026-08"
    assert booked_in("2026-11", {"2026-11": "closed", "2026-12": "closed"}) == "2027-01"


def body(cast: Cast, who: str, address: str, **more: Any) -> str:
    response = cast.client(who).get(address, more)
    assert response.status_code == 200
    return response.content.decode()


def test_the_list_tells_hours_cost_days_and_users_of_an_account(cast: Cast) -> None:
    page = body(cast, "finance", "/quality/unattributed/")
    for said in (">nobody<", "192.00", "1,920.00", "2026-06-15", "2026-06-16", "zoe"):
        assert said in page


def test_amounts_are_shown_to_those_who_may_see_money_alone(cast: Cast) -> None:
    assert "1,920.00" not in body(cast, "administrator", "/quality/unattributed/")
    address = "/quality/unattributed/map/?cluster=bj&account=nobody&project=ocr&from="
    assert "1,920.00" in body(cast, "finance", address)
    page = body(cast, "administrator", address)
    assert "1,920.00" not in page
    assert "192.00" in page


def test_an_administrator_previews_applies_and_watches(cast: Cast) -> None:
    client = cast.client("administrator")
    address = "/quality/unattributed/map/"
    given = {"cluster": "bj", "account": "nobody", "user": "*", "qos": "*", "project": "ocr", "from": ""}
    assert "Apply" in client.get(address, given).content.decode()
    answer = client.post(address, given)
    assert answer.status_code == 302
    page = client.get(answer["Location"]).content.decode()
    assert "data-refresh" in page
    settle()
    WorkItem.objects.update(state="done", due_at=None, done_at="2026-07-02T00:00Z")
    page = client.get(answer["Location"]).content.decode()
    assert "data-refresh" not in page
    assert "192.00" not in body(cast, "finance", "/quality/unattributed/")


def test_finance_looks_and_has_no_button(cast: Cast) -> None:
    page = body(cast, "finance", "/quality/unattributed/map/?cluster=bj&account=nobody&project=ocr")
    assert "What would move" in page
    assert "Apply" not in page


def test_a_partition_is_listed_with_the_pool_whose_node_ran_it(cast: Cast) -> None:
    page = body(cast, "operator", "/quality/unassigned/?from=2026-06-01&to=2026-06-30")
    for said in (">lost<", "3.00", "its nodes ran them", "pool=train-h800"):
        assert said in page
    claimed = body(cast, "operator", "/quality/unassigned/claim/?cluster=bj&partition=lost&pool=train-h800&from=")
    assert "Apply" in claimed


def test_what_cannot_be_done_is_said_on_the_page(cast: Cast) -> None:
    answer = cast.client("administrator").get(
        "/quality/unattributed/map/?cluster=bj&account=*&user=*&qos=*&project=ocr"
    )
    assert answer.status_code == 422
    assert "organisation file" in answer.content.decode()


@pytest.mark.parametrize("kind", ["quarantine", "over", "unknown", "unpriced", "flags", "findings"])
def test_every_count_opens_to_as_many_rows(cast: Cast, tmp_path: Any, kind: str) -> None:
    more = [
        line(301, "2026-06-21T08:00", "2026-06-21T09:00", "2026-06-21T10:00", gpus=None),
        line(302, "2026-06-21T08:00", "2026-06-21T09:00", "2026-06-21T10:00", ElapsedRaw=7),
        line(303, "2026-06-21T08:00", "2026-06-21T09:00", "2026-06-21T10:00", Start="noon"),
    ]
    folder = tmp_path / "more"
    folder.mkdir()
    bring(folder, more, observed_at="2026-07-03T00:00")
    from django.utils import timezone

    from governance.catalogue.models import Cluster
    from governance.usage import findings

    findings.replace(Cluster.objects.get(code="bj"), "vanished_run", {"7": {"last_seen": "x"}}, at=timezone.now())
    settle()
    overview = cast.client("finance").get("/quality/?from=2026-06-01&to=2026-06-30")
    counted = {one.code: one.total for one in overview.context["counts"]}
    assert counted[kind] > 0
    page = cast.client("finance").get(f"/quality/faults/{kind}/?from=2026-06-01&to=2026-06-30")
    rows = page.context["rows"]
    column = {"quarantine": 2, "unknown": 4, "flags": 2, "findings": 2}.get(kind)
    if kind == "over":
        assert len({row["cells"][0]["text"] for row in rows}) == counted[kind]
    else:
        assert sum(int(row["cells"][column]["text"]) if column else 1 for row in rows) == counted[kind]
    assert cast.client("finance").get(f"/quality/faults/{kind}/?format=csv").status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        "/quality/",
        "/quality/unattributed/",
        "/quality/unassigned/",
        "/quality/faults/unpriced/",
        "/quality/progress/bj/",
        "/quality/unattributed/map/?cluster=bj&account=nobody",
    ],
)
def test_a_page_asks_at_most_twelve_questions(cast: Cast, address: str) -> None:
    client = cast.client("finance")
    client.get(address)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert client.get(address).status_code == 200
    assert len(asked) <= 12, "\n".join(q["sql"][:150] for q in asked)
