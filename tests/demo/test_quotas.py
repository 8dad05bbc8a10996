"""The demo company holds quotas in every state, through the ordinary actions."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from governance.access.actor import Actor
from governance.catalogue.models import Pool
from governance.quotas import outlook, rooms
from governance.quotas.models import DepartmentShare, Offering, Quota
from governance.quotas.rules import Days
from governance.tenants.models import day_of_today
from portal.demo.plan import DemoArguments, generate
from portal.management import demo_quotas
from portal.organisation.actions import load

DEMO = Actor.machine("demo")


@pytest.mark.parametrize("gpus", [8, 24, 512])
def test_quotas_stand_as_the_pages_want_to_show_them(db, gpus):
    today = day_of_today()
    plan = generate(DemoArguments(until=today - timedelta(days=1), gpus=gpus, months=2))
    load(plan.organisation, actor=DEMO)
    demo_quotas.give(plan, actor=DEMO)
    lines = list(Quota.objects.prefetch_related("pauses"))
    assert lines and Offering.objects.count() == 3 * len(plan.pools)
    for pool in Pool.objects.exclude(cluster=None):
        ahead = outlook.outlook(pool, today)
        assert ahead.is_bound_by_shares or rooms.room(pool, Days(today, None)).gpus >= 0
    if gpus == 512:
        states = Counter(line.state_on(today) for line in lines)
        assert states["grace"] == states["suspended"] == 1 and states["active"] > 20
        assert any(line.to_on and 0 < (line.to_on - today).days <= 14 for line in lines)
        assert Quota.objects.filter(level="elastic").exists() and DepartmentShare.objects.count() > 2
        assert Quota.objects.filter(ended_as="replaced").count() == 1
    before = Quota.objects.count()
    demo_quotas.give(plan, actor=DEMO)
    assert Quota.objects.count() == before
