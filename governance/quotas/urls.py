"""Addresses of quotas, below /quotas/. Those that show money lie in the portal."""

from __future__ import annotations

from django.urls import path

from . import moving, pool_pages, views

urlpatterns = [
    path("", views.quotas, name="quotas"),
    path("pools/<str:code>/", views.pool, name="quota-pool"),
    path("pools/<str:code>/award/", moving.award, name="quota-award"),
    path("pools/<str:code>/terms/<str:what>/<str:verb>/", pool_pages.term, name="pool-term"),
    path("<str:number>/", views.quota, name="quota"),
    path("<str:number>/<str:verb>/", moving.move, name="quota-move"),
]
