"""Units and windows of the dictionary in words; a definition keeps the code, whoever shows it translates the word."""

from __future__ import annotations

from governance.errors import N_

UNITS: dict[str, str] = {
    "gpu_hour": N_("GPU-hour"),
    "card_hour": N_("whole-card hour"),
    "cpu_hour": N_("core-hour"),
    "node_hour": N_("node-hour"),
    "hour": N_("hour"),
    "second": N_("second"),
    "gib_hour": N_("GiB-hour"),
    "tib_day": N_("TiB-day"),
    "run": N_("run"),
    "record": N_("record"),
    "day": N_("day"),
    "percent": N_("percent"),
    "money": N_("the installation's currency"),
}
WINDOWS: dict[str, str] = {
    "period": N_("the days asked for"),
    "day": N_("a day of the billing time zone"),
    "month": N_("a calendar month"),
    "year": N_("a budget year"),
    "instant": N_("now"),
}
