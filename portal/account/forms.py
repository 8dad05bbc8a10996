"""Forms of a reader's own account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.utils.translation import gettext_lazy as _


class OwnPassword(PasswordChangeForm):
    """The old password, and the new one twice."""

    error_messages = {
        "password_incorrect": _("This is not your present password."),
        "password_mismatch": _("The two new passwords differ."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = {
            "old_password": _("Present password"),
            "new_password1": _("New password"),
            "new_password2": _("New password again"),
        }
        for name, label in labels.items():
            field = self.fields[name]
            field.label = label
            field.help_text = ""
            field.widget.attrs["class"] = "in"
            field.widget.attrs.pop("autofocus", None)
            if self.is_bound and name in self.errors:
                field.widget.attrs |= {"aria-invalid": "true", "aria-describedby": f"{name}-error"}
        self.fields["new_password1"].help_text = _("At least 12 characters, and none of the common ones.")

    def clean_new_password2(self) -> str:
        """The same as the first, and none that is easily guessed."""
        first, second = self.cleaned_data.get("new_password1"), self.cleaned_data.get("new_password2", "")
        if first and first == second:
            password_validation.validate_password(second, self.user)
        return str(second)


class WhoForgot(forms.Form):
    """Who asks for a new password."""

    who = forms.CharField(label=_("Username or mail address"), max_length=254)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["who"].widget.attrs |= {"class": "in", "autocomplete": "username", "autofocus": True}
        if self.is_bound and self.errors:
            self.fields["who"].widget.attrs |= {"aria-invalid": "true", "aria-describedby": "who-error"}


class NewPassword(SetPasswordForm):
    """The new password twice."""

    error_messages = {"password_mismatch": _("The two new passwords differ.")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, label in {"new_password1": _("New password"), "new_password2": _("New password again")}.items():
            field = self.fields[name]
            field.label, field.help_text = label, ""
            field.widget.attrs["class"] = "in"
            if self.is_bound and name in self.errors:
                field.widget.attrs |= {"aria-invalid": "true", "aria-describedby": f"{name}-error"}
        self.fields["new_password1"].help_text = _("At least 12 characters, and none of the common ones.")
