"""Who may give, end and see quotas."""

from __future__ import annotations

import pytest

from governance.errors import NotAllowed
from governance.quotas import actions
from governance.quotas.models import Quota
from tests.quotas.test_actions import D, day, terms


def test_rights_on_pool_and_project(cast):
    with pytest.raises(NotAllowed):
        actions.award(terms(), actor=cast.actor("lead"))
    quota = actions.award(terms(), actor=cast.actor("capacity_manager"))
    with pytest.raises(NotAllowed):
        actions.end(quota.number, on=D, ended_as="revoked", reason="r", actor=cast.actor("lead"))
    with pytest.raises(NotAllowed):
        actions.end(quota.number, on=D, ended_as="returned", reason="r", actor=cast.actor("outsider"))
    actions.end(quota.number, on=day(3), ended_as="returned", reason="r", actor=cast.actor("lead"))
    seen = {who: Quota.objects.visible_to(cast.actor(who)).count() for who in cast.people}
    assert {who for who, count in seen.items() if not count} == {"outsider", "former", "administrator", "security"}
