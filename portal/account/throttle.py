"""Wrong passwords slow down whoever types them: counted for each username and address, in the database."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from governance.access.models import SignInFailure
from governance.access.rules import LONGEST_PAUSE_SECONDS, sign_in_pause

#: Failures further apart than this are not in a row.
FORGOTTEN_AFTER = timedelta(seconds=4 * LONGEST_PAUSE_SECONDS)


def locked(username: str, address: str, now: datetime) -> SignInFailure:
    """The row of this username and address, locked until the transaction ends: guesses come one after another.

    Two at once would otherwise both be looked at before either is counted.
    """
    return _locked(username.strip().casefold()[:150], address[:64], now)


def locked_resets(typed: str, address: str, now: datetime) -> list[SignInFailure]:
    """The rows that count how often a password was asked for: from this address, and for this name from anywhere.

    What is typed begins with no space, so these are no usernames.
    """
    return [_locked(" reset", address[:64], now), _locked(f" reset {typed.strip().casefold()}"[:150], "", now)]


def _locked(username: str, address: str, now: datetime) -> SignInFailure:
    key = {"username": username, "address": address}
    SignInFailure.objects.filter(last_at__lt=now - FORGOTTEN_AFTER).delete()
    SignInFailure.objects.bulk_create([SignInFailure(**key, last_at=now)], ignore_conflicts=True)
    return SignInFailure.objects.select_for_update().get(**key)


def wait_seconds(of: SignInFailure, now: datetime) -> int:
    """Whole seconds until another password is looked at; 0 for at once."""
    over_at = of.last_at + timedelta(seconds=sign_in_pause(of.failures))
    return max(math.ceil((over_at - now).total_seconds()), 0) if of.failures else 0


def note_failure(of: SignInFailure, now: datetime) -> None:
    """One more wrong password."""
    of.failures += 1
    of.last_at = now
    of.save(update_fields=["failures", "last_at"])
