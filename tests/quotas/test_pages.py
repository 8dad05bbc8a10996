"""Pages of quotas: what is held against what is used, history, the pool's room, changes that are shown before they are made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from governance.quotas import listing, pool_terms, rules
from governance.quotas.models import Quota
from tests.books import MACHINE
from tests.cast import Cast
from tests.quotas.held import POOL, day, lay, lay_out, use


@pytest.fixture(scope="module")
def laid(cast_of_module: Cast, django_db_blocker, tmp_path_factory) -> Iterator[dict[str, Quota]]:
    with django_db_blocker.unblock(), transaction.atomic():
        found = lay_out()
        use(tmp_path_factory.mktemp("use"))
        yield found
        transaction.set_rollback(True)


@pytest.fixture
def held(laid, cast) -> dict[str, Quota]:
    return laid


def page(cast: Cast, who: str, address: str, language: str = "en"):
    return cast.client(who, language=language).get(address)


def test_a_member_sees_what_the_project_holds_uses_and_has_left(cast, held):
    response = page(cast, "member", "/quotas/")
    ((project, rows),) = response.context["groups"]
    assert project.code == "ocr"
    by_state = {row.state: row for row in rows if row.line.level == "normal"}
    active = by_state["active"]
    assert (active.use.used, active.use.p95, active.use.idle) == (12, 12, None)  # telemetry did not look
    assert active.use.hours in (576, 288, 0)  # of this month: depends on where in the month today lies
    assert active.ends_soon and active.days_left == 10
    assert {"active", "grace", "scheduled"} <= by_state.keys()
    body = response.content.decode()
    for words in ("10 days left", "In grace", "Suspended", "Scheduled", "9,000"):
        assert words in body
    elastic = next(row for row in rows if row.line.level == "elastic")
    assert elastic.use.used == 4


@pytest.mark.parametrize("state", ["standing", *rules.STATES, "all"])
def test_the_filter_by_state_agrees_with_the_rule(cast, held, state):
    lay("ocr", 1, -90, -60)
    found = set(listing.lines(cast.actor("auditor"), day(0), {"state": state}).values_list("pk", flat=True))
    wanted = {
        line.pk
        for line in Quota.objects.all()
        if state == "all"
        or line.state_on(day(0)) == state
        or (state == "standing" and line.state_on(day(0)) != "ended")
    }
    assert found == wanted and (found or state == "x")


TABS = [f"/quotas/pools/{POOL}/?tab={tab}" for tab in ("room", "held", "rules")]


def test_nobody_meets_the_quota_of_another_department(cast, held):
    for who in ("member", "lead", "approver", "viewer"):
        for address in ("/quotas/", "/quotas/?state=all", *TABS, "/quotas/offerings/"):
            body = page(cast, who, address).content.decode()
            assert not [w for w in ("Ranking", ">rank<", "Search", held["foreign"].number) if w in body], (who, address)
        assert page(cast, who, f"/quotas/{held['foreign'].number}/").status_code == 404
    assert page(cast, "outsider", f"/quotas/{held['active'].number}/").status_code == 404
    assert page(cast, "outsider", f"/quotas/{held['foreign'].number}/").status_code == 200


def test_a_pool_shows_its_sums_to_all_and_names_to_who_manages_it(cast, held):
    member, manager = (page(cast, who, f"/quotas/pools/{POOL}/") for who in ("member", "capacity_manager"))
    assert member.context["ahead"].now.promised == manager.context["ahead"].now.promised == 28
    assert member.context["ahead"].now.limit == 48
    assert (member.context["ahead"].tightest.room, member.context["ahead"].tightest.from_on) == (20, day(0))
    member, manager = (page(cast, who, f"/quotas/pools/{POOL}/?tab=held") for who in ("member", "capacity_manager"))
    assert {row.line.project.code for row in manager.context["rows"]} == {"ocr", "rank"}
    # ocr used 16 of 22 guaranteed and then of 20, rank 14 of 8: six were borrowed on each day, and lent as far as they stood unused.
    found = {project.code: (one.lent, one.borrowed) for project, one in manager.context["lending"]["rows"]}
    assert found == {"ocr": (6 * 24 + 4 * 24, 0), "rank": (0, 288)}
    assert member.context["lending"]["others"].borrowed == 288 and len(member.context["lending"]["rows"]) == 1
    rules_page = page(cast, "member", f"/quotas/pools/{POOL}/?tab=rules").content.decode()
    assert "Goes after Urgent and before Elastic." in rules_page
    assert "Its jobs may be displaced by Urgent and Normal once they have run for 30 minutes." in rules_page
    assert page(cast, "member", f"/quotas/pools/{POOL}/?tab=money").status_code == 422


def test_in_a_pooled_pool_the_shares_are_shown_to_those_they_bind(cast, held):
    pool_terms.set_policy(POOL, "pooled", from_on=day(0), actor=MACHINE)
    pool_terms.set_share(POOL, "research", 40, from_on=day(0), actor=MACHINE)
    pool_terms.set_share(POOL, "search", 20, from_on=day(0), actor=MACHINE)
    seen = {}
    for who in ("viewer", "outsider", "member", "capacity_manager"):
        shares = page(cast, who, f"/quotas/pools/{POOL}/").context["shares"]
        seen[who] = {one.department.code: (one.gpus, one.promised, one.room) for one in shares}
    assert seen["viewer"] == {"research": (40, 20, 20)} and seen["outsider"] == {"search": (20, 8, 12)}
    assert seen["member"] == {} and set(seen["capacity_manager"]) == {"research", "search"}


def test_a_quota_shows_every_line_before_and_after_and_who_did_it(cast, held):
    lead = page(cast, "lead", f"/quotas/{held['active'].number}/")
    assert {line.number for line, *_ in lead.context["lines"]} == {held["active"].number}
    assert [(deed.action, deed.why) for deed, *_ in lead.context["deeds"]] == [("quota.award", "laid out as it is")]
    chart = lead.context["chart"]
    assert [(one.used, one.guaranteed, one.ceiling) for one in chart.days[-3:]] == [
        (0, 16, 24),
        (12, 16, 24),
        (12, 16, 24),
    ]
    assert [move.verb for move in lead.context["moves"]] == ["return"]
    assert [m.verb for m in page(cast, "capacity_manager", f"/quotas/{held['active'].number}/").context["moves"]] == [
        "change",
        "suspend",
        "revoke",
    ]


def test_a_change_is_shown_first_and_made_when_it_is_confirmed(cast, held):
    number, client = held["active"].number, cast.client("capacity_manager", language="en")
    given = {
        "on": day(1),
        "guaranteed_gpus": 8,
        "ceiling_gpus": 8,
        "hours_period": "month",
        "to_on": day(10),
        "gpu_hours": "",
        "note": "less",
    }
    shown = client.post(f"/quotas/{number}/change/", given)
    trial = shown.context["trial"]
    assert (trial.refusal, [line.guaranteed_gpus for line in trial.lines_after if line.model]) == ("", [16, 8])
    assert Quota.objects.get(pk=held["active"].pk).ended_as == ""
    assert client.post(f"/quotas/{number}/change/", {**given, "confirm": "yes"}).status_code == 302
    assert Quota.objects.get(pk=held["active"].pk).ended_as == "replaced"
    made = Quota.objects.get(replaces=held["active"])
    history = page(cast, "member", f"/quotas/{made.number}/")
    assert [line.number for line, *_ in history.context["lines"]] == [made.number, number]
    deed = history.context["deeds"][0][0]
    assert (deed.who, deed.before["guaranteed_gpus"], deed.after["guaranteed_gpus"], deed.why) == (
        "capacity_manager",
        16,
        8,
        "less",
    )


def test_what_does_not_go_through_is_said_in_the_preview(cast, held):
    client = cast.client("capacity_manager", language="en")
    given = {
        "project": "rank",
        "level": "urgent",
        "guaranteed_gpus": 400,
        "ceiling_gpus": 400,
        "hours_period": "month",
        "from_on": day(0),
    }
    shown = client.post(f"/quotas/pools/{POOL}/award/", given)
    assert "room for 20 of the 400" in shown.context["trial"].refusal
    assert not Quota.objects.filter(project__code="rank", level="urgent").exists()
    shown = client.post(f"/quotas/pools/{POOL}/award/", {**given, "override": "agreed"})
    assert shown.context["trial"].is_short and not shown.context["trial"].refusal
    assert client.post(f"/quotas/pools/{POOL}/award/", {**given, "guaranteed_gpus": -1}).status_code == 422
    assert client.post(f"/quotas/pools/{POOL}/award/", {**given, "project": "no\0such"}).status_code in (404, 422)


def test_an_award_may_name_a_model_of_the_pool_and_no_other(cast, held):
    client = cast.client("capacity_manager", language="en")
    given = {
        "project": "rank",
        "level": "normal",
        "model": "h800",
        "guaranteed_gpus": 2,
        "ceiling_gpus": 2,
        "hours_period": "month",
        "from_on": day(0),
        "to_on": day(30),
        "confirm": "yes",
    }
    assert client.post(f"/quotas/pools/{POOL}/award/", {**given, "model": "a800"}).status_code == 422
    assert client.post(f"/quotas/pools/{POOL}/award/", given).status_code == 302
    made = Quota.objects.get(project__code="rank", model__code="h800")
    assert (made.guaranteed_gpus, made.level) == (2, "normal")


@pytest.mark.parametrize(
    ("who", "verb", "status"),
    [
        ("lead", "return", 200), ("approver", "return", 200), ("member", "return", 403), ("lead", "change", 403),
        ("capacity_manager", "revoke", 200), ("capacity_manager", "resume", 409), ("operator", "suspend", 403),
        ("outsider", "return", 404), ("capacity_manager", "dance", 404),
    ],
)  # fmt: skip
def test_who_may_do_what_to_a_line(cast, held, who, verb, status):
    assert page(cast, who, f"/quotas/{held['active'].number}/{verb}/").status_code == status


def test_a_lead_returns_and_a_manager_suspends_and_resumes(cast, held):
    lead, manager = cast.client("lead"), cast.client("capacity_manager")
    number = held["active"].number
    assert (
        manager.post(f"/quotas/{number}/suspend/", {"from_on": day(0), "reason": "audit", "confirm": "1"}).status_code
        == 302
    )
    assert Quota.objects.get(pk=held["active"].pk).state_on(day(0)) == "suspended"
    assert manager.post(f"/quotas/{number}/resume/", {"on": day(0), "confirm": "1"}).status_code == 302
    assert Quota.objects.get(pk=held["active"].pk).state_on(day(0)) == "active"
    assert lead.post(f"/quotas/{number}/return/", {"on": day(0), "reason": "done", "confirm": "1"}).status_code == 302
    assert Quota.objects.get(pk=held["active"].pk).ended_as == "returned"
    assert lead.post(f"/quotas/{number}/return/", {"on": day(0), "reason": "again", "confirm": "1"}).status_code == 409


def test_offerings_are_those_of_ones_projects_with_price_and_rules(cast, held):
    member = page(cast, "member", "/quotas/offerings/")
    shown = [one.offering.code for _pool, offers in member.context["groups"] for one in offers]
    assert shown == ["train", "train-low"]
    assert "¥10.00" in member.content.decode() and "A job runs for 72 hours at most." in member.content.decode()
    manager = page(cast, "capacity_manager", "/quotas/offerings/")
    assert [one.offering.code for _pool, offers in manager.context["groups"] for one in offers] == [
        "train-search",
        "train",
        "train-low",
    ]
    assert "¥" not in manager.content.decode()  # no money.view
    assert "训练" in page(cast, "member", "/quotas/offerings/", "zh-hans").content.decode()


ADDRESSES = ("/quotas/", "/quotas/?state=all", *TABS, "/quotas/offerings/", "quota")


@pytest.mark.parametrize("who", ["member", "approver", "capacity_manager", "auditor"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_asks_a_dozen_questions_at_most_whatever_there_is(cast, held, who, address):
    address = f"/quotas/{held['active'].number}/" if address == "quota" else address
    client = cast.client(who)
    client.get(address)
    counts = []
    for n in range(2):
        if n:
            for k in range(6):
                lay("ocr" if k % 2 else "rank", 1, 100 + 10 * k, 105 + 10 * k)
        with CaptureQueriesContext(connection) as asked:
            assert client.get(address).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1] and counts[0] <= 12, "\n".join(one["sql"].split("FROM")[-1][:99] for one in asked)


@pytest.mark.parametrize("who", ["member", "lead", "approver"])
def test_home_shows_what_ones_projects_hold_by_pool(cast, held, who, django_assert_max_num_queries):
    client = cast.client(who, language="en")
    client.get("/")
    with django_assert_max_num_queries(12):
        response = client.get("/")
    (one,) = response.context["held"]
    assert (one.guaranteed, one.ceiling, one.used) == (20, 40, 16)
    assert "Quotas in use" in response.content.decode() and "24.0 free" in response.content.decode()


def test_home_of_who_holds_nothing_has_no_such_part(cast, held):
    assert "held" not in page(cast, "finance", "/").context
