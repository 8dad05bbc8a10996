"""How the API learns who asks: a personal token, else the session of a browser (then with its CSRF token)."""

from __future__ import annotations

from typing import Any

from rest_framework import authentication
from rest_framework.request import Request

from governance.access.actor import Actor
from governance.errors import N_, NotSignedIn

from . import actions, rules

UNKNOWN_TOKEN = N_("The token is unknown, revoked or over its day.")


def shown(request: Any) -> str | None:
    """The secret in `Authorization: Bearer …`, "" for another scheme; None without the header."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer sty_…`: the person's rights, as far as the token's scopes go."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        """Set the request's actor. Raises NotSignedIn for a token that opens nothing; no header is no answer."""
        secret = shown(request)
        if secret is None:
            return None
        token = actions.recognise(secret) if secret.startswith(rules.PREFIX) else None
        if token is None:
            raise NotSignedIn(UNKNOWN_TOKEN)
        address = request.META.get("REMOTE_ADDR", "")
        request._request.actor = Actor.of(token.person, address, scopes=frozenset(token.scopes))
        return token.person, token

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return "Bearer"


class SessionAuthentication(authentication.SessionAuthentication):
    """A browser that signed in. What it changes wants the CSRF token in X-CSRFToken."""

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return "Bearer"
