"""The organisation as rows by code: the same form for what a file wants and what the tables say.

Keys are tuples of codes. Values are spoken of by codes too, with the words of the actions' tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from billing.prices.actions import PRICES
from governance.catalogue import actions as catalogue
from governance.catalogue.intervals import Interval
from governance.catalogue.reads import installation
from governance.catalogue.writing import Key, Table, Values, read, read_dated
from governance.tenants import actions as tenants

#: Kinds that stand undated and kinds that are dated by day, each with its table, in the order they are written.
THINGS: dict[str, Table] = {
    "place": catalogue.PLACES,
    "accelerator": catalogue.MODELS,
    "cluster": catalogue.CLUSTERS,
    "pool": catalogue.POOLS,
    "department": tenants.DEPARTMENTS,
    "project": tenants.PROJECTS,
    "person": tenants.PEOPLE,
    "login": tenants.LOGINS,
}
DATED: dict[str, Table] = {
    "card_factor": catalogue.CARD_FACTORS,
    "partition": catalogue.PARTITIONS,
    "node": catalogue.NODE_TERMS,
    "placement": tenants.PLACEMENTS,
    "mapping": tenants.MAPPINGS,
    "price": PRICES,
}
INSTALLATION: Key = ("installation",)
DEFAULT_BANDS = [{"code": "day"}]  # what an empty list of bands means


@dataclass
class State:
    """Undated rows `things[kind][key]` and dated ones `dated[kind][key]`, the intervals in order of their days."""

    things: dict[str, dict[Key, Values]] = field(default_factory=dict)
    dated: dict[str, dict[Key, list[Interval]]] = field(default_factory=dict)

    def codes(self, kind: str) -> set[str]:
        """The codes of an undated kind."""
        return {key[0] for key in self.things.get(kind, {})}

    @property
    def installation(self) -> Values:
        """Time zone, currency, bands, profile."""
        return self.things["installation"][INSTALLATION]


def current() -> State:
    """What the tables say now, in a fixed number of queries."""
    row = installation()
    values = {
        "time_zone": row.time_zone,
        "currency": row.currency,
        "bands": row.bands or DEFAULT_BANDS,
        "profile": row.profile,
    }
    return State(
        things={
            "installation": {INSTALLATION: values},
            **{kind: read(table) for kind, table in THINGS.items()},
        },
        dated={
            **{kind: read_dated(table) for kind, table in DATED.items()},
            "grant": tenants.standing_grants(),
        },
    )
