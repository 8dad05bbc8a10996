"""Addresses of notices and channels."""

from __future__ import annotations

from django.urls import path

from . import channel_views, views

urlpatterns = [
    path("notices/", views.notices, name="notices"),
    path("notices/latest/", views.latest, name="notices-latest"),
    path("notices/read/", views.read, name="notices-read"),
    path("notices/<int:number>/", views.notice, name="notice"),
    path("me/notices/", views.ways, name="me-notices"),
    path("channels/", channel_views.listed, name="channels"),
    path("channels/new/", channel_views.new, name="channel-new"),
    path("channels/<int:number>/", channel_views.channel, name="channel"),
    path("channels/<int:number>/test/", channel_views.test, name="channel-test"),
    path("channels/<int:number>/secret/", channel_views.new_secret, name="channel-secret"),
    path("channels/<int:number>/switch/", channel_views.switch, name="channel-switch"),
    path("channels/<int:number>/remove/", channel_views.remove, name="channel-remove"),
    path("channels/deliveries/<int:number>/again/", channel_views.again, name="delivery-again"),
    path("ops/channels/", channel_views.operations, name="ops-channels"),
]
