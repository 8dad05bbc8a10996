"""The form for a new token."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from .rules import LONGEST_DAYS

SCOPES = (
    ("read", _("Read: everything that your roles show you")),
    ("write", _("Write: everything that your roles let you change")),
    ("import", _("Import: bring in records and refused submissions, and nothing else")),
)


class TokenForm(forms.Form):
    """Name, scopes, days."""

    name = forms.CharField(label=_("What it is for"), max_length=100)
    scopes = forms.MultipleChoiceField(
        label=_("What it may do"), choices=SCOPES, widget=forms.CheckboxSelectMultiple, initial=["read"]
    )
    days = forms.IntegerField(label=_("Days until it ends"), min_value=1, max_value=LONGEST_DAYS, initial=90)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("name", "days"):
            self.fields[name].widget.attrs["class"] = "in"
            if self.is_bound and name in self.errors:
                self.fields[name].widget.attrs["aria-invalid"] = "true"
                self.fields[name].widget.attrs["aria-describedby"] = f"id_{name}-err"
