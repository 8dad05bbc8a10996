"""Keeping what must be shown to another machine again: sealed by a key derived from SECRET_KEY, never in clear.

A SECRET_KEY that changes leaves the old one in STEELYARD_OLD_SECRET_KEYS until every channel was given its secret anew.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from governance.errors import N_, NotTheMoment

BROKEN = N_(
    "The secret of this channel cannot be opened: it was sealed under another STEELYARD_SECRET_KEY. Enter address and secret again."
)
PURPOSE = b"steelyard notices channel secrets v1"


def _keys() -> MultiFernet:
    found = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derived(str(one))) for one in found])


def _derived(key: str) -> bytes:
    made = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(key.encode())
    return base64.urlsafe_b64encode(made)


def seal(plain: str) -> str:
    """`plain` as it may lie in the database; "" stays ""."""
    return _keys().encrypt(plain.encode()).decode() if plain else ""


def unseal(sealed: str) -> str:
    """What was sealed. Raises NotTheMoment where no key of ours opens it."""
    try:
        return _keys().decrypt(sealed.encode()).decode() if sealed else ""
    except InvalidToken:
        raise NotTheMoment(BROKEN) from None
