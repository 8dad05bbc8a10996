"""What can be exported, and which page shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from django.urls import Resolver404, resolve
from django.utils.translation import gettext

from governance.access.actor import Actor
from governance.errors import N_, BadData

from .sources import ledger, others, runs
from .sources.asked import Asked
from .table import Table

Settle = Callable[[Asked, Actor], dict[str, str]]
Make = Callable[[Asked, Actor], Table]


@dataclass(frozen=True)
class Kind:
    """A kind: what it is called, the pages (names of addresses) that show it, its filters, and where its rows come from."""

    code: str
    title_msgid: str
    pages: tuple[str, ...]
    known: tuple[str, ...]  # filters; what else stands in a page's address says only where in it one is
    settle: Settle
    table: Make

    @property
    def title(self) -> str:
        """What it is called, in the active language."""
        return gettext(self.title_msgid)


LEDGER = ("ledger", "ledger-department")
KINDS: dict[str, Kind] = {
    kind.code: kind
    for kind in (
        Kind("ledger-statement", N_("Department statement"), LEDGER, ledger.KNOWN_BY, ledger.settled, ledger.statement),
        Kind("ledger-lines", N_("Journal lines"), ("ledger-lines",), ledger.KNOWN, ledger.settled_lines, ledger.lines),
        Kind("runs", N_("Jobs"), ("jobs",), runs.KNOWN, runs.settled, runs.runs),
        Kind("usage", N_("Usage analysis"), ("usage",), others.USAGE, others.settled_usage, others.usage),
        Kind(
            "unattributed",
            N_("Unattributed accounts"),
            ("quality-unattributed",),
            (),
            others.settled_unattributed,
            others.unattributed,
        ),
        Kind("audit", N_("Audit trail"), ("audit",), others.TRAIL, others.settled_audit, others.audit),
        Kind("nodes", N_("Nodes"), ("catalog",), others.NODES, others.settled_nodes, others.nodes),
    )
}
_BY_PAGE = {page: kind for kind in KINDS.values() for page in kind.pages}


def kind_of(code: str) -> Kind:
    """The kind with this code. Raises BadData."""
    if code not in KINDS:
        words = N_("“%(kind)s” is nothing that can be exported. Use one of: %(known)s.")
        raise BadData(words, kind=code[:100], known=", ".join(KINDS))
    return KINDS[code]


def of_page(address: str) -> tuple[Kind, Mapping[str, str]]:
    """The kind that a page shows, and what its address asks. Raises BadData for a page that shows none."""
    parts = urlsplit(address)
    try:
        found = resolve(parts.path)
    except Resolver404:
        found = None
    kind = _BY_PAGE.get(found.url_name or "") if found else None
    if found is None or kind is None:
        raise BadData(N_("There is nothing to export on this page."))
    given = dict(parse_qsl(parts.query, keep_blank_values=True)) | {k: str(v) for k, v in found.kwargs.items()}
    return kind, {name: value for name, value in given.items() if name in kind.known}
