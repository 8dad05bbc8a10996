"""Forms of quotas: an award, and what may be done to a line. Days are days of the billing zone."""

from __future__ import annotations

from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from . import rules
from .models import Quota
from .wording import LEVELS, PERIODS

MOST = 2**31 - 1


def day_field(label: Any, *, required: bool = True, help_text: Any = "") -> forms.DateField:
    """A day, as the browser's own field takes it."""
    # The browser's own date field wants ISO, whatever the language of the page.
    widget = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    return forms.DateField(
        label=label, required=required, help_text=help_text, input_formats=["%Y-%m-%d"], widget=widget
    )


def _gpus(label: Any, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=0, max_value=MOST, help_text=help_text)


def _reason(label: Any = _("Reason")) -> forms.CharField:
    return forms.CharField(label=label, max_length=300, help_text=_("The project's people will read it."))


class QuotaForm(forms.Form):
    """What all of them share: the look of fields, and where their help and errors stand."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepare()
        for name, one in self.fields.items():
            one.widget.attrs["class"] = "in"
            described = [f"id_{name}-help"] if one.help_text else []
            if self.is_bound and name in self.errors:
                one.widget.attrs["aria-invalid"] = "true"
                described.append(f"id_{name}-err")
            if described:
                one.widget.attrs["aria-describedby"] = " ".join(described)

    def prepare(self) -> None:
        """Fit the fields to what the form is for. Runs before anything given is checked: choices set later would come too late."""


class AmountsForm(QuotaForm):
    """What is to be held."""

    guaranteed_gpus = _gpus(_("Guaranteed GPUs"), _("Kept for the project; an elastic quota has none."))
    ceiling_gpus = _gpus(_("Ceiling"), _("The most GPUs at once, the guaranteed ones among them."))
    gpu_hours = forms.IntegerField(
        label=_("GPU-hours"), required=False, min_value=0, max_value=2**53 - 1, help_text=_("Empty: no limit.")
    )
    hours_period = forms.ChoiceField(label=_("GPU-hours are"), choices=list(PERIODS.items()))
    to_on = day_field(_("Until"), required=False, help_text=_("The first day without it. Empty: without an end."))
    note = forms.CharField(label=_("Note"), required=False, max_length=300, help_text=_("Stands in the history."))
    override = forms.CharField(
        label=_("Reason to go beyond the room"),
        required=False,
        max_length=500,
        help_text=_("Only where the pool is promised already; stands in the history."),
    )


class AwardForm(AmountsForm):
    """A quota for a project that has none in the pool at this level."""

    project = forms.CharField(label=_("Project"), max_length=64, help_text=_("Its code."))
    level = forms.ChoiceField(label=_("Level"), choices=list(LEVELS.items()), initial=rules.NORMAL)
    model = forms.ChoiceField(label=_("GPU model"), required=False)
    from_on = day_field(_("From"))

    field_order = (
        "project",
        "level",
        "model",
        "guaranteed_gpus",
        "ceiling_gpus",
        "gpu_hours",
        "hours_period",
        "from_on",
    )

    def __init__(self, *args: Any, models: list[tuple[str, str]], **kwargs: Any) -> None:
        self.models = models
        super().__init__(*args, **kwargs)

    def prepare(self) -> None:
        """The pool's models to choose from."""
        self.fields["model"].choices = [("", _("any of the pool")), *self.models]  # type: ignore[attr-defined]
        self.fields["project"].widget.attrs["list"] = "projects"


class ChangeForm(AmountsForm):
    """Other amounts for a line from a day on."""

    on = day_field(_("From"), help_text=_("Until then it stays as it is."))
    field_order = ("on",)


class EndForm(QuotaForm):
    """The end of a line, with why."""

    on = day_field(_("Ends on"), help_text=_("The first day without it."))
    reason = _reason()


class SuspendForm(QuotaForm):
    """Days on which nothing starts."""

    from_on = day_field(_("From"))
    to_on = day_field(_("Until"), required=False, help_text=_("Empty: until it is resumed."))
    reason = _reason()


class ResumeForm(QuotaForm):
    """The end of a suspension."""

    on = day_field(_("Resumed on"))


def amounts_of(line: Quota, on: date) -> dict[str, Any]:
    """What a form of change begins with."""
    names = ("guaranteed_gpus", "ceiling_gpus", "gpu_hours", "hours_period", "to_on")
    return {"on": on, **{name: getattr(line, name) for name in names}}
