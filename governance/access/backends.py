"""Signing in by password. What a person may do is asked of the grants alone, so this backend grants nothing."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db.models.expressions import BaseExpression

from .models import Person

#: What every page shows of its reader, by the name it has on the person: asked in the question for the person. Topics add theirs.
BESIDE_PERSON: dict[str, BaseExpression] = {}


class PasswordBackend(ModelBackend):
    """Username and password."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        """Nothing: see governance.tenants.backends."""
        return False

    def get_user(self, user_id: int) -> Any:
        """The person of a session, with what every page shows of them; None where there is none, or none that may sign in."""
        person = Person.objects.filter(pk=user_id).annotate(**BESIDE_PERSON).first()
        return person if person is not None and self.user_can_authenticate(person) else None
