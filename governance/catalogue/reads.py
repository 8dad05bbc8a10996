"""Reading the installation: its zone, its days, its bands."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from governance.access.memory import remembered

from .models import Installation


@remembered
def installation() -> Installation:
    """The one row; the defaults where nothing was set yet."""
    return Installation.objects.filter(pk=1).first() or Installation()


def today(of: Installation) -> date:
    """Today in the billing time zone."""
    return datetime.now(UTC).astimezone(ZoneInfo(of.time_zone)).date()
