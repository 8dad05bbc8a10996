"""The address of the site's profile."""

from __future__ import annotations

from django.urls import path

from . import views

urlpatterns = [path("", views.profile, name="site-profile")]
