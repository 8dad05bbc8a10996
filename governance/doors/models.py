"""Tables of the doors: answers that must not be made twice, and how often somebody asked."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class KeptAnswer(models.Model):
    """The answer to a write that carried an Idempotency-Key, written in the transaction of what it answers."""

    pk = models.CompositePrimaryKey("who", "key")
    who = models.CharField(max_length=200)  # the person's username, or a machine's name
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)  # SHA-256 of method, address and body
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now(), db_index=True)

    class Meta:
        db_table = "kept_answer"

    def __str__(self) -> str:
        return f"{self.who} {self.key}"


class Asked(models.Model):
    """How often somebody asked within a minute. The table is not logged: after a crash it is empty, and nobody minds."""

    pk = models.CompositePrimaryKey("who", "minute")
    who = models.CharField(max_length=200)
    minute = models.BigIntegerField()  # since the epoch
    times = models.IntegerField()

    class Meta:
        db_table = "asked_of_doors"

    def __str__(self) -> str:
        return f"{self.who} {self.times}"
