"""The address of the service catalogue, below /quotas/offerings/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [path("", views.offerings, name="offerings")]
