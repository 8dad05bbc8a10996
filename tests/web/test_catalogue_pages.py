"""The catalogue's pages: what they say of pools, racks and nodes, a state entered by hand, projects, people, and their cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.translation import override

from governance.audit.models import AuditLine
from governance.catalogue.models import Cluster, Node, NodeState, NodeTerm, Place
from governance.usage.live_models import NodeSeen
from governance.usage.models import DirtyDay
from portal.catalogue import drawing, heat
from portal.catalogue.estate import Unit
from tests import books
from tests.cast import PERIOD, Cast

pytestmark = pytest.mark.django_db
CATALOG = f"/catalog/?period={PERIOD}"
GPU001 = "/catalog/nodes/bj/gpu001/"
PAGES = (
    CATALOG, f"{CATALOG}&view=models", f"{CATALOG}&view=clusters", f"{CATALOG}&view=nodes", f"/catalog/pools/train-h800/?period={PERIOD}",
    f"/catalog/models/h800/?period={PERIOD}", GPU001, f"/projects/?period={PERIOD}", f"/projects/ocr/?period={PERIOD}", "/people/",
)  # fmt: skip


def text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def put_in_state(name: str, state: str, **more: object) -> NodeState:
    node = Node.objects.get(name=name)
    given = {"reason": "NHC xid79", "from_at": timezone.now() - timedelta(hours=3), **more}
    return NodeState.objects.create(node=node, state=state, **given)


def rack(code: str, parent: Place) -> Place:
    return Place.objects.create(code=code, kind="rack", parent=parent, name_en=code.upper())


def test_the_pools_show_what_is_installed_in_service_allocated_and_free(cast: Cast) -> None:
    put_in_state("gpu002", "down")
    row = next(r for r in cast.client("operator").get(CATALOG).context["rows"] if r.pool.code == "train-h800")
    held = row.figures.holding
    assert (held.nodes, held.installed, held.in_service, dict(held.out)) == (4, 32, 24, {"down": 8})
    assert row.figures.day == date(2026, 6, 30)
    month = row.figures.month
    assert month.installed == 32 * 29 * 24 * 3_600_000  # the 1st has no records, so no facts
    assert month.rate == Decimal(month.allocated) / month.installed
    assert row.figures.free == row.figures.holding.in_service - row.figures.allocated


def test_a_fresh_snapshot_of_every_node_says_what_is_allocated_now(cast: Cast) -> None:
    bj = Cluster.objects.get(code="bj")
    for number in range(1, 5):
        NodeSeen.objects.create(
            cluster=bj, name=f"gpu00{number}", state="MIXED", gpus=[["h800", 8]], gpus_used=number, cpus=1, memory_mib=1,
            seen_at=timezone.now() - timedelta(minutes=2),
        )  # fmt: skip
    row = next(r for r in cast.client("operator").get(CATALOG).context["rows"] if r.pool.code == "train-h800")
    assert (row.figures.allocated, row.figures.free, row.figures.day) == (10, 22, None)
    NodeSeen.objects.filter(name="gpu001").update(seen_at=timezone.now() - timedelta(hours=5))
    row = next(r for r in cast.client("operator").get(CATALOG).context["rows"] if r.pool.code == "train-h800")
    assert row.figures.day == date(2026, 6, 30)


def test_a_node_was_allocated_by_the_share_of_its_runs_on_the_day(cast: Cast, tmp_path: object) -> None:
    # run 101: 8 cards on gpu001 from 09:00 on the 2nd for a day
    assert heat.allocation("bj", date(2026, 6, 2), 86_400) == {"gpu001": 8 * 1000 * 15 * 3600}
    more = [
        books.line(
            900,
            "2026-06-29T00:00",
            "2026-06-29T00:00",
            "2026-06-29T06:00",
            gpus=16,
            NodeList="gpu[002-003]",
            NNodes="2",
        )
    ]
    books.bring(tmp_path, more, observed_at="2026-07-03T00:00")  # type: ignore[arg-type]
    assert heat.allocation("bj", date(2026, 6, 29), 86_400) == dict.fromkeys(("gpu002", "gpu003"), 8 * 1000 * 6 * 3600)


def test_the_racks_stand_in_their_fault_domains_and_a_drained_node_has_an_icon_for_a_number(cast: Cast) -> None:
    row = Place.objects.create(code="r1", kind="row", name_en="Row 1")
    one, two = rack("a01", row), rack("a02", row)
    NodeTerm.objects.filter(node__name__in=("gpu001", "gpu002")).update(place=one)
    NodeTerm.objects.filter(node__name="gpu003").update(place=two)
    put_in_state("gpu003", "drained")
    response = cast.client("operator").get(f"{CATALOG}&pool=train-h800")
    domains = response.context["heat"]
    assert [(d.name, [(r.name, [c.unit.node for c in r.cells]) for r in d.racks]) for d in domains] == [
        ("Row 1", [("A01", ["gpu001", "gpu002"]), ("A02", ["gpu003"])]),
        ("", [("", ["gpu004"])]),
    ]
    drained = domains[0].racks[1].cells[0]
    assert drained.tone == "warn"
    body = response.content.decode()
    assert 'class="cell warn"' in body
    assert response.context["looked"].unit.node == "gpu003"
    assert "2 of the other 2 nodes in service" in body


def test_a_cell_says_its_node_state_and_share_and_nothing_of_a_name_is_markup() -> None:
    unit = Unit("p&q", "bj", '<b>"1', "h800", "H800", 8, None, "in_service", "", None, 0, "", 8)
    with override("en"):
        sound = drawing.cells([heat.Cell(unit, Decimal("0.5"), is_current=True)])
        drained = drawing.cells([heat.Cell(replace(unit, state="drained"), None, is_current=False)])
    says = "&lt;b&gt;&quot;1, In service, 50%"
    assert f'title="{says}" aria-label="{says}" aria-current="true">50</a>' in sound
    assert 'class="cell q3" href="/catalog/?pool=p%26q&amp;node=%3Cb%3E%221#h-node"' in sound
    assert 'class="cell warn"' in drained
    assert "Drained" in drained
    assert 'href="#i-ban"' in drained
    assert "<b>" not in sound + drained


def test_nodes_are_filtered_by_the_query_string_and_page_by_cursor(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    client = cast.client("lead")
    put_in_state("inf001", "repair")
    found = client.get("/catalog/?view=nodes&state=unsound").context["list"]
    assert [row.unit.node for row in found.rows] == ["inf001"]
    assert client.get("/catalog/?view=nodes&pool=train-h800").context["list"].count == 4
    assert client.get("/catalog/?view=nodes&state=asleep").status_code == 422
    monkeypatch.setattr("portal.catalogue.shown.NODES_A_PAGE", 4)
    first = client.get("/catalog/?view=nodes").context
    rest = client.get(f"/catalog/{first['next_url']}").context["list"]
    names = [row.unit.node for row in (*first["list"].rows, *rest.rows)]
    assert (names, rest.after) == (sorted(set(names)), "")
    assert len(names) == 6


def test_an_operator_enters_a_state_by_hand_and_ends_it_and_its_days_are_metered_again(cast: Cast) -> None:
    client = cast.client("operator")
    given = {"state": "drained", "from_at": "2026-06-10T08:00", "to_at": "", "reason": "ticket 7"}
    DirtyDay.objects.all().delete()
    assert client.post(f"{GPU001}state/", given)["Location"] == GPU001
    row = NodeState.objects.get(node__name="gpu001")
    assert (row.state, row.from_at, row.source) == ("drained", datetime(2026, 6, 10, 0, 0, tzinfo=UTC), "hand")
    assert DirtyDay.objects.filter(day=date(2026, 6, 10)).exists()
    assert not DirtyDay.objects.filter(day__lt=date(2026, 6, 10)).exists()
    assert "Into service now" in text(client, GPU001)
    assert client.post(f"{GPU001}state/", given).status_code == 422  # it stands already
    assert client.post(f"{GPU001}state/end/").status_code == 302
    row.refresh_from_db()
    assert row.to_at is not None
    told = AuditLine.objects.filter(object_kind="node", object_code="bj/gpu001").order_by("pk")
    assert [line.action for line in told][-2:] == ["node_state.added", "node_state.ended"]


def test_a_form_that_is_wrong_says_where_and_keeps_what_was_typed(cast: Cast) -> None:
    response = cast.client("operator").post(f"{GPU001}state/", {"state": "down", "from_at": "soon", "reason": "why"})
    assert response.status_code == 422
    body = response.content.decode()
    assert "Write day and time, such as 2026-06-30T08:15." in body
    assert 'value="why"' in body


def test_what_the_scheduler_says_is_not_ended_by_hand(cast: Cast) -> None:
    put_in_state("gpu001", "down", source="snapshot")
    client = cast.client("operator")
    assert "Into service now" not in text(client, GPU001)
    assert client.post(f"{GPU001}state/end/").status_code == 409


def test_a_node_shows_its_terms_its_states_and_the_runs_that_the_reader_may_see(cast: Cast, tmp_path: object) -> None:
    late = {"observed_at": "2026-07-03T00:00"}
    more = [
        books.line(901, "2026-07-02T00:00", "2026-07-02T00:00", "2026-07-02T09:00", gpus=2),
        books.line(902, "2026-07-02T00:00", "2026-07-02T00:00", "2026-07-02T09:00", gpus=2, Account="rank", User="eve"),
    ]
    books.bring(tmp_path, more, **late)  # type: ignore[arg-type]
    books.settle()
    seen = {}
    for who in ("operator", "lead", "member", "outsider", "leadership", "capacity_manager"):
        runs = cast.client(who).get(GPU001).context["runs"]
        seen[who] = None if runs is None else sorted(run.job_id for run, _ in runs.shown)
    assert seen["operator"] == ["901", "902"]
    assert (seen["lead"], seen["member"], seen["outsider"]) == (["901"], ["901"], ["902"])
    assert (seen["leadership"], seen["capacity_manager"]) == ([], None)


def test_a_project_shows_home_payers_members_and_what_the_ledger_says_of_the_month(cast: Cast) -> None:
    for who in ("finance", "approver", "lead"):
        page = cast.client(who).get(f"/projects/ocr/?period={PERIOD}")
        ledger = cast.client(who).get(f"/ledger/~/{PERIOD}/?project=ocr&by=pool").context["total"]
        assert page.context["hours"] == ledger.gpu_hours
        assert page.context["amount"] == ledger.amount
    body = page.content.decode()
    assert "at home in Vision" in body
    assert {one["row"].user.username for one in page.context["members"]} == {"member", "lead", "former"}
    assert page.context["sees_names"] is False


def test_operations_see_a_projects_hours_and_no_amount(cast: Cast) -> None:
    assert "Amount" not in text(cast.client("operator"), f"/projects/ocr/?period={PERIOD}")
    assert "Amount" not in text(cast.client("operator"), f"/projects/?period={PERIOD}")


def test_the_list_of_projects_holds_what_the_reader_may_see(cast: Cast) -> None:
    def codes(who: str) -> list[str]:
        return [row["project"].code for row in cast.client(who).get(f"/projects/?period={PERIOD}").context["rows"]]

    assert (codes("lead"), codes("outsider"), codes("finance")) == (["ocr"], ["rank"], ["ocr", "rank"])
    assert cast.client("administrator").get("/projects/").context["sees_use"] is False


def test_the_directory_shows_roles_with_their_days_and_logins(cast: Cast) -> None:
    client = cast.client("security")
    rows = {one["row"].person.username: one for one in client.get("/people/").context["rows"]}
    (role,) = rows["former"]["roles"]
    assert (role["on"], role["is_past"], role["holds"]) == ("OCR", True, False)
    assert [login.login for login in rows["member"]["row"].logins] == ["ada"]
    assert [r["row"].person.username for r in client.get("/people/?q=ada").context["rows"]] == ["member"]
    assert [r["row"].person.username for r in client.get("/people/?role=finance").context["rows"]] == ["finance"]


@pytest.mark.parametrize("who", ["auditor", "approver", "member", "administrator"])
def test_no_page_asks_more_than_twelve_questions_however_much_there_is(cast: Cast, who: str) -> None:
    def asked() -> dict[str, int]:
        found = {}
        for address in PAGES:
            client = cast.client(who)
            with CaptureQueriesContext(connection) as captured:
                client.get(address)
            found[address] = len(captured)
        return found

    before = asked()
    bj, term = Cluster.objects.get(code="bj"), NodeTerm.objects.get(node__name="gpu001")
    for number in range(20):
        node = Node.objects.create(cluster=bj, name=f"more{number}")
        NodeTerm.objects.create(node=node, pool=term.pool, model=term.model, accelerators=8)
        NodeState.objects.create(node=node, state="down", from_at=timezone.now())
    assert asked() == before
    assert max(before.values()) <= 12, before
