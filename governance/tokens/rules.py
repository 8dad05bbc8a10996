"""How a token is spelled and what of it is kept."""

from __future__ import annotations

import hashlib
import secrets

PREFIX = "sty_"
LONGEST_DAYS = 365
MOST_LIVE = 20
#: That a token was used is noted at most this often.
USE_NOTED_SECONDS = 60


def fresh() -> str:
    """A new secret of 256 random bits; the prefix lets a scanner of source code recognise it."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """What is kept of a secret. It is random and long, so one round of SHA-256 cannot be guessed backwards."""
    return hashlib.sha256(secret.encode()).hexdigest()


def hint(secret: str) -> str:
    """The last four characters, by which a person tells tokens apart."""
    return secret[-4:]
