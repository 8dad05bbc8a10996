"""The portal's own errors: what happened, what it means, what to do. Plain Python; wording is translated at the door.

A message is an English gettext msgid with named parameters, marked by `N_` so that extraction finds it.
`portal/errors.py` turns these into answers; nobody else catches them.
"""

from __future__ import annotations


def N_(message: str) -> str:  # noqa: N802 - the usual name of a gettext marker
    """Mark a message for translation without translating it here."""
    return message


class DomainError(Exception):
    """An error that is the caller's to know. `status` is the HTTP answer; `message % params` the words."""

    status = 422

    def __init__(self, message: str, **params: object) -> None:
        super().__init__(message)
        self.message = message
        self.params = params

    def __str__(self) -> str:
        return self.message % self.params if self.params else self.message


class NotSignedIn(DomainError):
    """A machine at a door without the token, or with a wrong one."""

    status = 401


class NotFound(DomainError):
    """Not there, or not yours to see: the two are told apart by nobody."""

    status = 404


class NotAllowed(DomainError):
    """Yours to see, not yours to do."""

    status = 403


class NotTheMoment(DomainError):
    """Yours to do, but not now."""

    status = 409


class BadData(DomainError):
    """The data given cannot be accepted."""

    status = 422


class Changed(DomainError):
    """What the caller saw is not what stands there now."""

    status = 412


class TooMuch(DomainError):
    """More than is taken at once."""

    status = 413


class BadItems(BadData):
    """Several faults at once, each a BadData of its own."""

    def __init__(self, faults: list[BadData]) -> None:
        super().__init__(N_("%(count)s faults were found. Nothing was changed."), count=len(faults))
        self.faults = faults

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(str(fault) for fault in self.faults)])
