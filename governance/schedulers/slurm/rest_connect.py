"""A cluster's connection, as it is kept, turned into a client of slurmrestd."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx

from governance.schedulers.live import SourceFault
from governance.schedulers.slurm.rest import SlurmRest
from governance.schedulers.slurm.rest_http import Rest, TokenAt
from governance.schedulers.slurm.rest_versions import number_of
from governance.schedulers.slurm.runner import Patience

TEXTS = frozenset({"url", "socket", "version", "token_env", "token_file", "user", "ca_file", "cluster"})
NUMBERS = frozenset({"silent_s", "total_s"})
SWITCHES = frozenset({"verify"})
_SHAPES = {
    "socket": re.compile(r"/.{1,106}"),  # a Unix socket's path may have 107 bytes
    "token_file": re.compile(r"/.+"),
    "ca_file": re.compile(r"/.+"),
    "token_env": re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII),
    "user": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@\\-]*", re.ASCII),
    "cluster": re.compile(r"[A-Za-z0-9_.-]+", re.ASCII),
}


def connect_rest(name: str, connection: Mapping[str, Any]) -> SlurmRest:
    """slurmrestd at the connection's `url` or `socket`.

    Keys, one of the first two needed: url (http or https), socket (path of a Unix socket), version ("v0.0.42"; the newest
    that both sides know where it is missing), token_env (name of the variable) or token_file (path) with the JSON web
    token, user (Slurm's login, where a proxy asks for it beside the token), ca_file (path), verify (false: any
    certificate will do), cluster (Slurm's name where slurmdbd serves several), silent_s and total_s (patience with long
    answers, seconds). `name` is the portal's, for messages. Raises SourceFault("bad_connection", what=key).
    """
    given = {key: value for key, value in connection.items() if value not in (None, "")}
    for key, value in given.items():
        if not _fits(key, value):
            raise SourceFault("bad_connection", what=key, name=name)
    for one, other in (("url", "socket"), ("token_env", "token_file")):
        if one in given and other in given:
            raise SourceFault("bad_connection", what=other, name=name)
    if "url" not in given and "socket" not in given:
        raise SourceFault("bad_connection", what="url", name=name)
    held = TokenAt(given.get("token_env", ""), given.get("token_file", ""))
    rest = Rest(
        url=given.get("url", "http://localhost"),
        socket=given.get("socket", ""),
        token=held if held.env or held.file else None,
        user=given.get("user", ""),
        ca_file=given.get("ca_file", ""),
        verify=given.get("verify", True),
    )
    usual = Patience()
    patience = Patience(given.get("silent_s", usual.silent_s), given.get("total_s", usual.total_s))
    version = number_of(given["version"]) if "version" in given else None
    return SlurmRest(rest, cluster=given.get("cluster", ""), version=version, patience=patience)


def _fits(key: str, value: object) -> bool:
    if key in SWITCHES:
        return isinstance(value, bool)
    if key in NUMBERS:
        return type(value) in (int, float) and value > 0  # type: ignore[operator]
    if key not in TEXTS or not isinstance(value, str) or not value.isprintable():
        return False
    if key == "version":
        return number_of(value) is not None
    if key == "url":
        return _is_address(value)
    return _SHAPES[key].fullmatch(value) is not None


def _is_address(text: str) -> bool:
    """Whether it is an address without a password, a query or a fragment in it."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return url.scheme in ("http", "https") and bool(url.host) and not (url.userinfo or url.query or url.fragment)
