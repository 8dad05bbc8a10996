"""Dated prices. `*` stands for any; equal patterns never overlap; each measure may be left open (None: not priced here)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from governance.catalogue.models import Dated, days_in_order, never_overlap

ANY = "*"


class Price(Dated):
    """Per GPU-hour of the model's device; per CPU-core-hour and GiB-hour for runs with a known count of zero GPUs. "0" is free."""

    pool = models.CharField(max_length=64, default=ANY)
    accelerator = models.CharField(max_length=64, default=ANY)
    qos = models.CharField(max_length=128, default=ANY)
    band = models.CharField(max_length=32, default=ANY)
    gpu_hour = models.DecimalField(max_digits=18, decimal_places=6, null=True)
    cpu_core_hour = models.DecimalField(max_digits=18, decimal_places=6, null=True)
    memory_gib_hour = models.DecimalField(max_digits=18, decimal_places=6, null=True)

    class Meta:
        db_table = "price"
        constraints = [
            never_overlap("price_no_overlap", "pool", "accelerator", "qos", "band"),
            days_in_order("price_days"),
            models.CheckConstraint(
                name="price_prices_something",
                condition=Q(gpu_hour__isnull=False) | Q(cpu_core_hour__isnull=False) | Q(memory_gib_hour__isnull=False),
            ),
            models.CheckConstraint(
                name="price_not_negative",
                condition=(Q(gpu_hour__isnull=True) | Q(gpu_hour__gte=0))
                & (Q(cpu_core_hour__isnull=True) | Q(cpu_core_hour__gte=0))
                & (Q(memory_gib_hour__isnull=True) | Q(memory_gib_hour__gte=0)),
            ),
        ]
