"""The actor: nobody acts anonymously."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from governance.errors import N_, NotAllowed

from .rules import allows

if TYPE_CHECKING:
    from .models import Person


@dataclass(frozen=True)
class Actor:
    """Who does it and from where. `person` is None for a machine (a task, a command line), which may do everything it is built to do."""

    name: str
    person: Person | None = None
    is_machine: bool = False
    address: str = ""
    scopes: frozenset[str] | None = None  # what the token shown allows; None: not by a token, so nothing is held back

    @classmethod
    def machine(cls, name: str) -> Actor:
        """A part of the portal acting by itself, or an operator on the server's own command line."""
        return cls(name=name, is_machine=True)

    @classmethod
    def of(cls, person: Person, address: str = "", *, scopes: frozenset[str] | None = None) -> Actor:
        """A person who signed in, or whose token with these scopes was shown."""
        return cls(name=person.get_username(), person=person, address=address, scopes=scopes)

    @classmethod
    def anonymous(cls, address: str = "") -> Actor:
        """Nobody in particular: may nothing, sees nothing."""
        return cls(name="", address=address)

    def may(self, capability: str, node: Any = None) -> bool:
        """Whether the actor holds `capability` on `node` (a department, project or pool), or on the whole site when None."""
        if self.is_machine:
            return True
        if self.scopes is not None and not allows(self.scopes, capability):
            return False
        return self.person is not None and self.person.has_perm(capability, node)


def require(actor: Actor, capability: str, node: Any = None) -> None:
    """Raise NotAllowed unless the actor holds `capability` on `node`, or on the site when None."""
    if not actor.may(capability, node):
        raise NotAllowed(
            N_(
                "This needs the right “%(capability)s”, which your roles do not include. Ask the security administrator for it."
            ),
            capability=capability,
        )
