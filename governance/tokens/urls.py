"""Addresses below /me/tokens/."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [
    path("", views.tokens, name="tokens"),
    path("<int:number>/revoke/", views.revoke, name="token-revoke"),
]
