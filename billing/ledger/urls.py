"""Addresses below /ledger/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.departments, name="ledger"),
    path("<str:department>/<str:period>/", views.department, name="ledger-department"),
    path("<str:department>/<str:period>/lines/", views.lines, name="ledger-lines"),
]
