"""A write with an Idempotency-Key happens once: the answer is kept in its transaction and given again for a day."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from governance.errors import N_, BadData, NotTheMoment

LONGEST_KEY = 200
OTHER_BODY = N_("This Idempotency-Key was used for another request already. Take a new key for a new request.")

#: A second request waits here until the first has committed, and then finds its answer; one over its day is replaced.
CLAIM = """
INSERT INTO kept_answer AS k (who, key, digest, status, body, at) VALUES (%(who)s, %(key)s, %(digest)s, 0, '', clock_timestamp())
ON CONFLICT (who, key) DO UPDATE SET digest = excluded.digest, status = 0, body = '', at = excluded.at
    WHERE k.at < clock_timestamp() - interval '24 hours'
RETURNING status
"""


def digest(*parts: bytes) -> str:
    """SHA-256 over parts that cannot run into one another."""
    made = hashlib.sha256()
    for part in parts:
        made.update(str(len(part)).encode() + b":" + part)
    return made.hexdigest()


def answered(key: str, who: str, of: str, act: Callable[[], Response]) -> Response:
    """What `act` answers, kept under `key`; or what it answered before. `of` is the digest of the request.

    A refusal is not kept, for it has changed nothing. Raises NotTheMoment for the same key with another request.
    """
    if not 1 <= len(key) <= LONGEST_KEY or not key.isprintable() or not key.isascii() or " " in key:
        raise BadData(
            N_("An Idempotency-Key has 1 to %(most)s printable ASCII characters and no space."), most=LONGEST_KEY
        )
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(CLAIM, {"who": who[:200], "key": key, "digest": of})
            if cursor.fetchone() is None:
                cursor.execute(
                    "SELECT digest, status, body FROM kept_answer WHERE who = %s AND key = %s", [who[:200], key]
                )
                kept, status, body = cursor.fetchone()
                return _again(kept == of, status, body)
        response = act()
        with connection.cursor() as cursor:
            body = json.dumps(response.data, cls=JSONEncoder, ensure_ascii=False)
            cursor.execute(
                "UPDATE kept_answer SET status = %s, body = %s WHERE who = %s AND key = %s",
                [response.status_code, body, who[:200], key],
            )
            cursor.execute("DELETE FROM kept_answer WHERE at < clock_timestamp() - interval '24 hours'")
    return response


def _again(is_same: bool, status: int, body: str) -> Response:
    if not is_same:
        raise NotTheMoment(OTHER_BODY)
    response: Any = Response(json.loads(body), status=status)
    response["Idempotency-Replayed"] = "true"
    return response
