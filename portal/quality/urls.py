"""Addresses below /quality/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.overview, name="quality"),
    path("faults/<str:kind>/", views.faults_of, name="quality-faults"),
    path("unattributed/", views.unattributed, name="quality-unattributed"),
    path("unattributed/map/", views.map_account, name="quality-map"),
    path("unassigned/", views.unassigned, name="quality-unassigned"),
    path("unassigned/claim/", views.claim_partition, name="quality-claim"),
    path("progress/<str:cluster>/", views.progress, name="quality-progress"),
]
