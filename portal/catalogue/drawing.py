"""The cells of the map of racks as HTML: a pool has a thousand, and a template that is entered for each takes a third of a second."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from governance.access.memory import remembered
from governance.usage.ops.words import NODE_STATES

if TYPE_CHECKING:
    from .heat import Cell

CELL = '<a class="cell {tone}" href="{to}?pool={pool}&amp;node={node}#h-node" title="{says}" aria-label="{says}"{current}>{shows}</a>'


def cells(of: Iterable[Cell]) -> SafeString:
    """One link a cell, which says its node, its state and the share of its cards that was allocated; everything is escaped."""
    to, comma, found = _to(), _comma(), []
    for cell in of:
        unit, percent = cell.unit, cell.percent
        says = [unit.node, _word(unit.state), *([] if percent is None else [f"{percent}%"])]
        found.append(
            CELL.format(
                tone=escape(cell.tone),
                to=to,
                pool=quote(unit.pool),
                node=quote(unit.node),
                says=escape(comma.join(says)),
                current=' aria-current="true"' if cell.is_current else "",
                shows=_icon(unit.tone.icon) if not unit.is_sound else _icon("ok") if percent is None else percent,
            )
        )
    return SafeString("".join(found))


# What a thousand cells share is asked for once a page.


@remembered
def _to() -> str:
    return reverse("catalog")


@remembered
def _comma() -> str:
    return _(", ")


@remembered
def _word(state: str) -> str:
    return str(NODE_STATES[state].word)


@remembered
def _icon(name: str) -> SafeString:
    return render_to_string("shell/_icon.html", {"name": name})
