"""Addresses of projects and people."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("projects/", views.projects, name="projects"),
    path("projects/<str:code>/", views.project, name="project"),
    path("people/", views.people, name="people"),
]
