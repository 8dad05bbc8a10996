"""Every address of the portal. A new one needs a row in the access matrix (tests/test_access_matrix.py)."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
