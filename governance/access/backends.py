"""Signing in by password. What a person may do is asked of the grants alone, so this backend grants nothing."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend


class PasswordBackend(ModelBackend):
    """Username and password."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        """Nothing: see governance.tenants.backends."""
        return False
