"""Every address of the portal. A new one needs a row in the access matrix (tests/test_access_matrix.py)."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from portal import health, home, jobs, metrics, views
from portal.account import reset_views as resets
from portal.account import views as account
from portal.search import views as search

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("sign-in/", account.SignIn.as_view(), name="sign-in"),
    path("sign-in/forgotten/", resets.forgotten, name="reset"),
    path("sign-in/forgotten/sent/", resets.sent, name="reset-sent"),
    path("sign-in/new-password/done/", resets.done, name="reset-done"),
    path("sign-in/new-password/<uidb64>/<token>/", resets.SetPassword.as_view(), name="reset-set"),
    path("sign-out/", account.sign_out, name="sign-out"),
    path("me/", account.me, name="me"),
    path("me/password/", account.password, name="me-password"),
    path("me/session/", account.session, name="me-session"),
    path("me/sign-out-everywhere/", account.sign_out_everywhere, name="me-sign-out-everywhere"),
    path("search/", search.search, name="search"),
    path("language/", views.language, name="language"),
    path("theme/", views.theme, name="theme"),
    path("health/live", health.live, name="live"),
    path("health/ready", health.ready, name="ready"),
    path("metrics", metrics.metrics, name="metrics"),
    path("ledger/", include("billing.ledger.urls")),
    path("jobs/", include("governance.usage.urls")),
    path("catalog/", include("portal.catalogue.urls")),
    path("ops/enforcement/", include("governance.quotas.enforcement.urls")),
    path("ops/", include("governance.usage.ops.urls")),
    path("reference/", include("portal.reference.urls")),
    path("", include("portal.directory.urls")),
    path("quality/", include("portal.quality.urls")),
    path("usage/", include("portal.analysis.urls")),
    path("quotas/offerings/", include("portal.offerings.urls")),
    path("quotas/", include("governance.quotas.urls")),
    path("", include("governance.approvals.urls")),
    path("reclaim/", include("governance.reclaim.urls")),
    path("audit/", include("portal.audit.urls")),
    path("exports/", include("portal.exports.urls")),
    path("site/profile/", include("portal.profile.urls")),
    path("me/tokens/", include("governance.tokens.urls")),
    path("", include("governance.notices.urls")),
    path("api/", include("portal.api.urls")),
    path("jobs/<str:cluster>/<str:job_id>/<int:submit>/", jobs.job, name="job"),
]

handler400 = "portal.errors.bad_request"
handler403 = "portal.errors.forbidden"
handler404 = "portal.errors.not_found"
handler500 = "portal.errors.failed"
