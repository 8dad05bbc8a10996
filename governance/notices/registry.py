"""What can happen, to which kinds of object, and whom it concerns. Topics above register; nothing here knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from governance.access.actor import Actor
from governance.errors import N_

from .rules import AT_ONCE, DIGEST, OFF

Codes = frozenset[str]


class Recipient(NamedTuple):
    """Whom a notice is for, and in which role, which words it; "" is the general wording."""

    person_id: int
    role: str = ""


@dataclass(frozen=True)
class Group:
    """Events that a person chooses the ways of together. One that is `kept` is always shown in the portal."""

    code: str
    name: str
    says: str
    kept: bool = False


@dataclass(frozen=True)
class Event:
    """Something that happens to an object of a kind.

    `title` and `says` are msgids with the facts as named parameters; `says` by recipient role, "" for all others. `mail` is
    the way by mail where a person has not chosen: at_once, digest or off. `personal`: it concerns its recipients alone, so
    no channel carries it. `url`: where it leads (about, facts), where that is not the object's own page.
    """

    code: str
    group: str
    kind: str
    title: str
    says: Mapping[str, str]
    mail: str = DIGEST
    personal: bool = False
    url: Callable[[str, Mapping[str, Any]], str] | None = None

    def words(self, role: str) -> str:
        """The msgid for a recipient in this role."""
        return self.says.get(role) or self.says[""]


@dataclass(frozen=True)
class Kind:
    """A kind of object, by its codes.

    `visible`: which of these codes the actor may see now; `url`: the page of one; `show`: what the API shows the actor of one,
    None where it is not there; `scopes`: the (kind of scope, code) that one belongs to, for channels of a department or project.
    """

    code: str
    visible: Callable[[Actor, Codes], Iterable[str]]
    url: Callable[[str], str]
    show: Callable[[Actor, str], dict[str, Any] | None]
    scopes: Callable[[str], Iterable[tuple[str, str]]] = lambda code: ()


@dataclass(frozen=True)
class Scope:
    """A kind of node that a channel may be bound to.

    `find`: the node with a code, None where there is none; `choices`: (code, name) of those on which the actor holds a capability.
    """

    code: str
    find: Callable[[str], Any]
    choices: Callable[[Actor, str], list[tuple[str, str]]]


GROUPS: dict[str, Group] = {}
EVENTS: dict[str, Event] = {}
KINDS: dict[str, Kind] = {}
SCOPES: dict[str, Scope] = {}
#: The event that tells that work of a kind fails, its key being the object's code; all others are told by work.failing.
FAILING: dict[str, str] = {}
#: What looks now and then whether something is to be told that no action of its own tells; each may run any number of times.
WATCHES: list[Callable[[datetime], object]] = []
_holders: list[Callable[[str], list[Recipient]]] = []
_zone: list[Callable[[], str]] = []


def register(*things: Group | Event | Kind | Scope) -> None:
    """Make groups, events, kinds and scopes known. The same code again replaces the one before."""
    for thing in things:
        if isinstance(thing, Group):
            GROUPS[thing.code] = thing
        elif isinstance(thing, Kind):
            KINDS[thing.code] = thing
        elif isinstance(thing, Scope):
            SCOPES[thing.code] = thing
        else:
            if thing.mail not in (AT_ONCE, DIGEST, OFF) or "" not in thing.says:
                raise ValueError(
                    f"event {thing.code}: mail must be a way of mail, and says needs a wording for everybody"
                )
            EVENTS[thing.code] = thing


def register_holders(holders: Callable[[str], list[Recipient]]) -> None:
    """Say how to find who holds a capability on the whole site today; the topic of grants does."""
    _holders[:] = [holders]


def holders_of(capability: str) -> list[Recipient]:
    """Who holds the capability on the whole site today."""
    return _holders[0](capability) if _holders else []


def register_zone(zone: Callable[[], str]) -> None:
    """Say how to find the billing time zone, in which days are told to who has chosen no other."""
    _zone[:] = [zone]


def usual_zone() -> str:
    """The billing time zone."""
    return _zone[0]() if _zone else "UTC"


def event_of(code: str) -> Event:
    """The event with this code. KeyError for one that nobody registered."""
    return EVENTS[code]


def _nothing(actor: Actor, code: str) -> None:
    return None


#: An object that is its recipient's alone, such as a session or a file made for them: the notice is theirs, so is the object.
OWN = Kind("own", visible=lambda actor, codes: codes, url=lambda code: "", show=_nothing)

register(
    OWN,
    Group("account", N_("Your account"), N_("Password, sign-ins, tokens, password reset."), kept=True),
    Group("files", N_("Your files"), N_("Exports that were made for you, records you brought in.")),
    Group("operations", N_("Collection and data quality"), N_("Pulls, quarantine, unattributed use, background work.")),
    Group("channels", N_("Channels"), N_("Webhooks and robots of yours that do not get through.")),
)
