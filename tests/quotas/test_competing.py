"""Awards beside one another in real transactions."""

from __future__ import annotations

from datetime import date, timedelta
from threading import Barrier, Thread

from django.db import connections

from governance.errors import NotTheMoment
from governance.quotas import actions
from governance.quotas.actions import Terms
from governance.quotas.models import Quota
from tests.books import MACHINE, declare

D = date.today() + timedelta(days=1)  # noqa: DTZ011 - any day near will do


def test_of_many_awards_at_once_only_as_many_stand_as_there_is_room(apart):
    """32 GPUs, sixteen awards of 8 for lines that do not touch one another: four stand, twelve are told why not."""
    declare(
        projects=[
            {"code": f"p{n}", "name": {"zh": "项目", "en": "P"}, "placements": [{"department": "vision"}]}
            for n in range(16)
        ],
        mappings=[],
    )
    refused: list[str] = []
    faults: list[BaseException] = []
    start = Barrier(16)

    def one(n: int) -> None:
        terms = Terms(f"p{n}", "train-h800", 8, 8, D, level="urgent" if n % 2 else "normal")
        try:
            start.wait(timeout=60)
            actions.award(terms, actor=MACHINE)
        except NotTheMoment as error:
            refused.append(str(error))
        except BaseException as error:
            faults.append(error)
        finally:
            connections.close_all()

    threads = [Thread(target=one, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert Quota.objects.held_on(D).count() == 4
    assert len(refused) == 12 and all("room for 0 of the 8" in words for words in refused)
