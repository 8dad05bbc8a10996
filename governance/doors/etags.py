"""ETags of what is written through a door: a write with If-Match happens only to what was read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from governance.errors import N_, BadData, Changed

ETAG = re.compile(r'"[!#-~]*"')


def etag(content: str) -> str:
    """The ETag of a content, whatever language or fields it is shown in."""
    return f'"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'


def want(request: Any, present: Callable[[], str], other: str) -> None:
    """Raise Changed, in the words of `other`, where If-Match is given and is not the present ETag; BadData where it is none."""
    held = request.headers.get("If-Match")
    if held is None:
        return
    if not ETAG.fullmatch(held):
        raise BadData(N_("If-Match is no ETag: send the header ETag as it came with what was read."))
    if held != present():
        raise Changed(other)
