"""Audit lines; the database refuses to change or delete them."""

from __future__ import annotations

from django.db import models


class AuditLine(models.Model):
    """One change: who did what to which object, with the values before and after."""

    at = models.DateTimeField(db_default=models.functions.Now(), db_index=True)
    actor = models.CharField(max_length=200)
    is_machine = models.BooleanField()
    address = models.CharField(max_length=64, blank=True)
    action = models.CharField(max_length=100)
    object_kind = models.CharField(max_length=64)
    object_code = models.CharField(max_length=300)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        db_table = "audit_line"
        indexes = [models.Index(fields=["object_kind", "object_code"], name="audit_line_object")]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.object_code}"
