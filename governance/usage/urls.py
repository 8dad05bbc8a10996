"""Addresses below /jobs/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.jobs, name="jobs"),
    path("<str:cluster>/<str:job_id>/<int:submit>/", views.job, name="job"),
]
