"""Addresses of asks, of deciding, and of the policy."""

from __future__ import annotations

from django.urls import path

from . import acting_views, inbox, policy_views, views, writing

urlpatterns = [
    path("asks/", views.asks, name="asks"),
    path("asks/new/", writing.new, name="ask-new"),
    path("asks/draft/", writing.draft, name="ask-draft"),
    path("asks/<str:number>/", views.ask, name="ask"),
    path("asks/<str:number>/edit/", writing.edit, name="ask-edit"),
    path("asks/<str:number>/files/<int:pk>/", views.file, name="ask-file"),
    path("asks/<str:number>/files/<int:pk>/detach/", views.detach, name="ask-file-detach"),
    path("asks/<str:number>/<str:verb>/", views.move, name="ask-move"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/together/", inbox.bulk, name="inbox-bulk"),
    path("inbox/acting/", acting_views.acting, name="acting"),
    path("inbox/acting/<int:pk>/end/", acting_views.end, name="acting-end"),
    path("inbox/<str:number>/", inbox.decide, name="inbox-ask"),
    path("policies/", policy_views.policies, name="policies"),
    path("policies/new/", policy_views.new, name="policy-new"),
    path("policies/<int:version>/", policy_views.policy, name="policy"),
    path("policies/<int:version>/activate/", policy_views.activate, name="policy-activate"),
]
