"""What was asked, as every source reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest, QueryDict

from billing.ledger.pages import SPECIAL, WORDS
from governance.catalogue.reads import installation
from governance.errors import N_, BadData
from governance.usage.views import OUTCOMES, UNKNOWN_OUTCOME, days_of

Asked = Mapping[str, str]

UNKNOWN = N_("“%(name)s” is no filter of this export. Known are: %(known)s.")
LONG = N_("The filter “%(name)s” is longer than 500 characters.")
LONGEST = 500


def only(asked: Asked, known: Sequence[str]) -> dict[str, str]:
    """What was asked, where all of it is known. Raises BadData."""
    for name, value in asked.items():
        if name not in known:
            raise BadData(UNKNOWN, name=name[:100], known=", ".join(known))
        if len(value) > LONGEST:
            raise BadData(LONG, name=name)
        if "\0" in value:
            raise BadData(N_("The filter “%(name)s” has a character that no name has."), name=name)
    return dict(asked)


def zone() -> ZoneInfo:
    """The billing time zone."""
    return ZoneInfo(installation().time_zone)


def days(asked: Asked) -> tuple[date, date]:
    """The days asked for, as the pages take them. Raises BadData."""
    request = HttpRequest()
    request.GET = QueryDict(urlencode({name: asked[name] for name in ("from", "to") if asked.get(name)}))
    return days_of(request, zone())


def with_days(asked: Asked) -> dict[str, str]:
    """The same with its days written out, so that it means the same days tomorrow."""
    first_on, last_on = days(asked)
    return {**asked, "from": first_on.isoformat(), "to": last_on.isoformat()}


def filters_in_words(filters: Asked) -> list[tuple[str, str]]:
    """Filters by dimension as (what, which) in the reader's language."""
    found = []
    for name, value in filters.items():
        word = OUTCOMES.get(value, UNKNOWN_OUTCOME).word if name == "outcome" else SPECIAL.get((name, value), value)
        found.append((str(WORDS.get(name, name)), str(word)))
    return found
