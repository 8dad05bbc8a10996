"""What notices know of the catalogue: the billing time zone."""

from __future__ import annotations

from governance.notices.registry import register_zone

from .reads import installation

register_zone(lambda: installation().time_zone)
