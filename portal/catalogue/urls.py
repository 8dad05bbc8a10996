"""Addresses below /catalog/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.catalogue, name="catalog"),
    path("pools/<str:code>/", views.pool, name="catalog-pool"),
    path("models/<str:code>/", views.model, name="catalog-model"),
    path("nodes/<str:cluster>/<str:name>/", views.node, name="catalog-node"),
    path("nodes/<str:cluster>/<str:name>/state/", views.enter_state, name="catalog-node-state"),
    path("nodes/<str:cluster>/<str:name>/state/end/", views.end_state, name="catalog-node-state-end"),
]
