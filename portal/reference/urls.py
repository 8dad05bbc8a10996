"""Addresses below /reference/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("prices/", views.prices, name="reference-prices"),
    path("mappings/", views.mappings, name="reference-mappings"),
    path("metrics/", views.dictionary, name="reference-metrics"),
    path("metrics/<str:code>/", views.metric, name="reference-metric"),
    path("organisation/", views.organisation, name="reference-organisation"),
]
