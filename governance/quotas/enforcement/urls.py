"""Addresses below /ops/enforcement/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("<str:code>/", views.cluster, name="enforcement"),
    path("<str:code>/check/", views.check, name="enforcement-check"),
    path("<str:code>/switch/", views.switch, name="enforcement-switch"),
    path("<str:code>/configure/", views.configure, name="enforcement-configure"),
    path("<str:code>/round/", views.ask, name="enforcement-round"),
    path("<str:code>/drift/<int:number>/restore/", views.restore, name="enforcement-restore"),
    path("<str:code>/drift/<int:number>/adopt/", views.adopt, name="enforcement-adopt"),
]
