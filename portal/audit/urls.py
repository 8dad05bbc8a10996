"""Addresses below /audit/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [path("", views.audit, name="audit")]
