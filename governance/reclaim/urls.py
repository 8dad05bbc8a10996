"""Addresses of reclaim, below /reclaim/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.cases, name="reclaim"),
    path("rules/", views.rules_page, name="reclaim-rules"),
    path("rules/<str:code>/switch/", views.switch, name="reclaim-switch"),
    path("<str:number>/", views.case, name="reclaim-case"),
    path("<str:number>/<str:verb>/", views.move, name="reclaim-move"),
]
