"""How mail leaves, from one address: smtp://, smtps://, file:///folder, console:."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

BACKENDS = "django.core.mail.backends"


@dataclass(frozen=True)
class Mail:
    """Django's settings of mail."""

    backend: str = f"{BACKENDS}.dummy.EmailBackend"
    host: str = ""
    port: int = 25
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False
    folder: str | None = None
    is_on: bool = False


def settings_of(url: str) -> Mail:
    """The settings that an address means; "" is no mail. ValueError for one that is none.

    `smtp://user:password@host:587` speaks TLS once it is connected (`?tls=no` for a relay that has none), `smtps://` from the start.
    """
    if not url:
        return Mail()
    parts = urlsplit(url)
    if parts.scheme in ("smtp", "smtps") and parts.hostname:
        tls = parts.scheme == "smtps"
        return Mail(
            backend=f"{BACKENDS}.smtp.EmailBackend",
            host=parts.hostname,
            port=parts.port or (465 if tls else 587),
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            starttls=not tls and parse_qs(parts.query).get("tls") != ["no"],
            tls=tls,
            is_on=True,
        )
    if parts.scheme == "file" and parts.path.startswith("/"):
        return Mail(backend=f"{BACKENDS}.filebased.EmailBackend", folder=unquote(parts.path), is_on=True)
    if parts.scheme == "console":
        return Mail(backend=f"{BACKENDS}.console.EmailBackend", is_on=True)
    raise ValueError("STEELYARD_MAIL_URL: write smtp://user:password@host:587, smtps://…, file:///folder or console:")
