"""Sizes of a site and what each leaves out. Plain Python."""

from __future__ import annotations

from dataclasses import dataclass

from governance.errors import N_


@dataclass(frozen=True)
class Profile:
    """A size: its code, its name and what it is like (msgids), from how many installed cards it is proposed, what it hides."""

    code: str
    name: str
    says: str
    from_cards: int
    hides: frozenset[str]


#: What can be left out, in words. A part of ONE_OF is left out only while there is at most one such thing.
PARTS: dict[str, str] = {
    "usage": N_("Usage analysis in the navigation"),
    "quality": N_("Data quality in the navigation"),
    "exports": N_("Exports in the navigation"),
    "racks": N_("Racks, fault domains and the map of nodes in the catalogue"),
    "week": N_("Starts by weekday and hour in the usage analysis"),
    "pools": N_("The table of pools in the catalogue, while there is one pool"),
    "models": N_("GPU models in the catalogue, while there is one model"),
    "clusters": N_("Clusters in the catalogue, while there is one cluster"),
}
ONE_OF = frozenset({"pools", "models", "clusters"})
#: Entries of the navigation (names of addresses) that a part stands for.
ENTRIES = {"usage": "usage", "quality": "quality", "exports": "exports"}

PROFILES: dict[str, Profile] = {
    one.code: one
    for one in (
        Profile("single", N_("Single-GPU pilot"), N_("A few GPUs on a node or two."), 0, frozenset(PARTS)),
        Profile(
            "shared",
            N_("Shared small cluster"),
            N_("Dozens to hundreds of GPUs that several teams share."),
            9,
            frozenset({"racks", "week", *ONE_OF}),
        ),
        Profile("pooled", N_("Thousand-GPU pool"), N_("About a thousand GPUs in pools."), 600, ONE_OF),
        Profile(
            "network",
            N_("Several thousand GPUs"),
            N_("Several thousand GPUs, where network and data paths matter."),
            2_000,
            frozenset(),
        ),
        Profile(
            "industrial",
            N_("Ten-thousand-GPU operation"),
            N_("Ten thousand GPUs and more, run around the clock."),
            8_000,
            frozenset(),
        ),
    )
}


def proposed(cards: int) -> str:
    """The profile for so many installed cards; "" for none."""
    if cards <= 0:
        return ""
    return next(code for code, one in reversed(PROFILES.items()) if cards >= one.from_cards)


def hidden(code: str) -> frozenset[str]:
    """What the profile leaves out; nothing where none is chosen."""
    return PROFILES[code].hides if code in PROFILES else frozenset()


def left_out(hides: frozenset[str], counts: dict[str, int]) -> frozenset[str]:
    """Of what is to be hidden, what may be: of pools, models and clusters only while there is at most one."""
    return frozenset(part for part in hides if part not in ONE_OF or counts.get(part, 0) <= 1)
