"""Sharing a whole out over parts, in whole numbers: nothing is lost, nothing passes its part."""

from __future__ import annotations

import random

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db


def test_active_and_idle_shares_add_up_and_never_pass_their_units():
    chance = random.Random(20260601)
    cases = []
    for _ in range(500):
        held = chance.choice((1, 7, 1000, 86_400_000, 8 * 10**11))
        active = chance.randint(0, held)
        idle = chance.choice((0, held - active, chance.randint(0, held - active)))
        cuts = sorted(chance.randint(0, held) for _ in range(chance.randint(0, 4)))
        cases.append((held, active, idle, [0, *cuts, held]))
    with connection.cursor() as cursor:
        for held, active, idle, edges in cases:
            cursor.execute(
                "SELECT share_upto(%(active)s, c, %(held)s),"
                " share_upto(%(idle)s, c - share_upto(%(active)s, c, %(held)s), %(held)s - %(active)s)"
                " FROM unnest(%(edges)s::bigint[]) WITH ORDINALITY AS e (c, n) ORDER BY n",
                {"active": active, "idle": idle, "held": held, "edges": edges},
            )
            upto = cursor.fetchall()
            begin = (0, 0) if held else upto[0]
            shares = [(a2 - a1, i2 - i1) for (a1, i1), (a2, i2) in zip([begin, *upto[1:]], upto[1:], strict=False)]
            assert (sum(a for a, _ in shares), sum(i for _, i in shares)) == (active, idle)
            for (share_active, share_idle), low, high in zip(shares, edges, edges[1:], strict=False):
                assert share_active >= 0 and share_idle >= 0 and share_active + share_idle <= high - low


def test_nothing_shared_over_nothing_is_nothing():
    with connection.cursor() as cursor:
        cursor.execute("SELECT share_upto(0, 0, 0), share_upto(5, 0, 10), share_upto(5, 10, 10), share_upto(5, 3, 10)")
        assert cursor.fetchone() == (0, 0, 5, 1)
