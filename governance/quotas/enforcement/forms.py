"""The form of how a cluster is enforced."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _


class SetupForm(forms.Form):
    """How limits are set on a cluster."""

    requires_type = forms.BooleanField(
        required=False,
        label=_("Jobs name their type of GPU"),
        help_text=_("A limit on a type does not hold a job that names none. With this, such a job waits (QOSMinGRES)."),
    )
    keeps_qos = forms.CharField(
        required=False,
        max_length=1000,
        label=_("QOS that accounts keep"),
        help_text=_(
            "With commas. Beside their own QOS accounts may use these; only the account's sum holds them there."
        ),
    )
    syncs_members = forms.BooleanField(
        required=False,
        label=_("Add members to accounts"),
        help_text=_(
            "Members of a project are added to its account. Who leaves may submit nothing; nobody else is touched."
        ),
    )

    def names(self) -> list[str]:
        """The QOS as a list."""
        return [part.strip() for part in str(self.cleaned_data["keeps_qos"]).split(",") if part.strip()]
