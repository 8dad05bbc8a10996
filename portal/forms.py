"""Forms of the shell."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _


class SignInForm(AuthenticationForm):
    """Username and password. The answer to a wrong one does not say which of the two it was."""

    error_messages = {
        "invalid_login": _("Username and password do not match. Both tell capital letters from small ones."),
        "inactive": _("This account is switched off. Ask the security administrator."),
    }

    def __init__(self, request: HttpRequest | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self.fields["username"].label = _("Username")
        self.fields["password"].label = _("Password")
        for name, field in self.fields.items():
            field.widget.attrs["class"] = "in"
            if self.is_bound and (name in self.errors or self.non_field_errors()):
                field.widget.attrs["aria-invalid"] = "true"
                field.widget.attrs["aria-describedby"] = "sign-in-errors"
