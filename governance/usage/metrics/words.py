"""Units and windows of the dictionary in words; a definition keeps the code, whoever shows it translates the word."""

from __future__ import annotations

from governance.errors import N_

UNITS: dict[str, str] = {
    "gpu": N_("GPUs"),
    "gpu_hour": N_("GPU-hours"),
    "card_hour": N_("whole-card hours"),
    "cpu_hour": N_("core-hours"),
    "node_hour": N_("node-hours"),
    "hour": N_("hours"),
    "second": N_("seconds"),
    "gib_hour": N_("GiB-hours"),
    "tib_day": N_("TiB-days"),
    "kwh": N_("kWh"),
    "run": N_("runs"),
    "record": N_("records"),
    "day": N_("days"),
    "percent": N_("percent"),
    "money": N_("the installation's currency"),
}
WINDOWS: dict[str, str] = {
    "period": N_("the days asked for"),
    "day": N_("a day of the billing time zone"),
    "month": N_("a calendar month"),
    "year": N_("a budget year"),
    "instant": N_("the present moment"),
}
