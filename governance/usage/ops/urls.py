"""Addresses below /ops/. "new" is no cluster's code: the form refuses it."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.operations, name="ops"),
    path("work/retry/", views.retry_work, name="ops-work-retry"),
    path("clusters/new/", views.new_cluster, name="ops-cluster-new"),
    path("clusters/<str:code>/", views.cluster, name="ops-cluster"),
    path("clusters/<str:code>/test/", views.test, name="ops-cluster-test"),
    path("clusters/<str:code>/pull/", views.pull, name="ops-cluster-pull"),
    path("clusters/<str:code>/nodes/", views.nodes, name="ops-cluster-nodes"),
    path("clusters/<str:code>/quarantine/", views.quarantine, name="ops-cluster-quarantine"),
]
