"""Addresses below /jobs/; a single run's page also shows money, so it is portal's."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.jobs, name="jobs"),
]
