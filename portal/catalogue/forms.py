"""Forms of the catalogue: a node's state by hand. Times are of the billing clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils.translation import gettext_lazy as _

from governance.catalogue.models import NodeState
from governance.usage.ops.words import NODE_STATES

CLOCK = "%Y-%m-%dT%H:%M"


class InstantField(forms.CharField):
    """An instant as a browser's datetime-local sends it, taken in the zone the form was made for."""

    zone: ZoneInfo

    def clean(self, value: Any) -> Any:
        """An aware instant, None where an optional one was left out."""
        text = super().clean(value)
        if not text:
            return None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise forms.ValidationError(_("Write day and time, such as 2026-06-30T08:15.")) from None
        return found if found.tzinfo else found.replace(tzinfo=self.zone)


def _clock() -> forms.DateTimeInput:
    return forms.DateTimeInput(attrs={"type": "datetime-local"})


class StateForm(forms.Form):
    """What state a node was in, from when to when, and why."""

    state = forms.ChoiceField(label=_("State"))
    from_at = InstantField(label=_("From"), max_length=40, widget=_clock())
    to_at = InstantField(
        label=_("Until"), max_length=40, required=False, widget=_clock(), help_text=_("Empty: until it is ended here.")
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=300,
        help_text=_("What is wrong and the ticket; everybody who sees the node reads it."),
    )

    def __init__(self, *args: Any, zone: ZoneInfo, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("from_at", now.astimezone(zone).strftime(CLOCK))
        out = [state for state in NodeState.STATES if state != "in_service"]
        self.fields["state"].choices = [(state, NODE_STATES[state].word) for state in out]  # type: ignore[attr-defined]
        for field in self.fields.values():
            if isinstance(field, InstantField):
                field.zone = zone
        for name, field in self.fields.items():
            field.widget.attrs["class"] = "in"
            if field.help_text:
                field.widget.attrs["aria-describedby"] = f"id_{name}-help"
            if self.is_bound and name in self.errors:
                field.widget.attrs["aria-invalid"] = "true"
                field.widget.attrs["aria-describedby"] = f"id_{name}-err"
