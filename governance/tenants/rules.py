"""Whose use is it: account+user+QoS over account+user over account+QoS over account over user over `*`. Plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

ANY = "*"
UNATTRIBUTED = "unattributed"


class Mapping(NamedTuple):
    """An account mapping that holds on the day in question."""

    account: str
    user: str
    qos: str
    project: str


def rank(account: str, user: str, qos: str) -> int:
    """Place of a pattern in the order of the matching rules, larger wins.

    Within account over user over nothing, a QoS makes a pattern more specific; account+user beats account+QoS.
    """
    return 4 * (account != ANY) + 2 * (user != ANY) + (qos != ANY)


class Owners:
    """The mappings of one cluster on one day, ready to be asked."""

    def __init__(self, mappings: Iterable[Mapping]) -> None:
        self._by_pattern = {(m.account, m.user, m.qos): m.project for m in mappings}
        # Only the kinds of pattern that occur are tried, best first.
        self._kinds = sorted(
            {(a != ANY, u != ANY, q != ANY) for a, u, q in self._by_pattern},
            key=lambda k: -(4 * k[0] + 2 * k[1] + k[2]),
        )

    def project(self, account: str, user: str, qos: str) -> str:
        """The project that this use belongs to, *unattributed* where no mapping claims it."""
        for has_account, has_user, has_qos in self._kinds:
            key = (account if has_account else ANY, user if has_user else ANY, qos if has_qos else ANY)
            if key in self._by_pattern:
                return self._by_pattern[key]
        return UNATTRIBUTED


def descends(parents: dict[str, str | None], code: str) -> list[str]:
    """The line from `code` up to the root. Raises ValueError naming the loop where the departments form one."""
    line, seen = [code], {code}
    while (above := parents.get(line[-1])) is not None:
        if above in seen:
            raise ValueError(" -> ".join([*line[line.index(above) :], above]))
        line.append(above)
        seen.add(above)
    return line
