"""Addresses below /exports/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.exports, name="exports"),
    path("<str:number>/file/", views.file, name="export-file"),
    path("<str:number>/discard/", views.discard, name="export-discard"),
]
