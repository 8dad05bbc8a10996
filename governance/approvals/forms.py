"""Forms of asks: the ask with its lines, and the small forms of moves. Days are days of the billing zone, written YYYY-MM-DD."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from governance.quotas import rules as quotas
from governance.quotas.forms import MOST
from governance.quotas.wording import LEVELS, PERIODS

from . import rules
from .drafts import LONGEST_TEXT, MOST_LINES, Given, LineGiven
from .rules import Kind
from .wording import KINDS

#: What a line is asked by kind: where a quota is changed it says pool, model and level.
PLACE = ("pool", "model", "level")
AMOUNTS = ("guaranteed_gpus", "ceiling_gpus", "gpu_hours", "hours_period")
FIELDS: dict[str, tuple[str, ...]] = {
    Kind.NEW: (*PLACE, *AMOUNTS, "from_on", "to_on"),
    Kind.INCREASE: ("quota", *AMOUNTS, "from_on", "to_on"),
    Kind.EXTEND: ("quota", "to_on"),
    Kind.BURST: ("quota", *PLACE, *AMOUNTS, "from_on", "to_on"),
    Kind.RETURN: ("quota", *AMOUNTS, "from_on"),
    Kind.KEEP: ("quota", "to_on"),
}


def _day(label: Any, help_text: Any = "") -> forms.DateField:
    widget = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    return forms.DateField(label=label, required=False, help_text=help_text, input_formats=["%Y-%m-%d"], widget=widget)


def _gpus(label: Any, help_text: Any = "", most: int = MOST) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=0, max_value=most, help_text=help_text)


class PlainForm(forms.Form):
    """What the forms share: the look of fields. `marked` ties help and errors to them, once errors are known."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for one in self.fields.values():
            if not isinstance(one.widget, forms.CheckboxInput | forms.RadioSelect):
                one.widget.attrs["class"] = "in"

    def marked(self) -> None:
        """Say at each field where its help and errors stand, and which are wrong."""
        for bound in self:
            described = [f"{bound.id_for_label}-help"] if bound.help_text else []
            if self.is_bound and bound.errors:
                bound.field.widget.attrs["aria-invalid"] = "true"
                described.append(f"{bound.id_for_label}-err")
            if described:
                bound.field.widget.attrs["aria-describedby"] = " ".join(described)


class AskForm(PlainForm):
    """What an ask says of itself. Everything may be missing in a draft; submitting asks for the rest."""

    kind = forms.ChoiceField(label=_("What is it?"), choices=list(KINDS.items()), widget=forms.RadioSelect)
    project = forms.ChoiceField(label=_("Project"))
    goal = forms.CharField(
        label=_("Goal and due day"), required=False, max_length=LONGEST_TEXT, widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Whoever decides reads this first: what it is for, and by when."),
    )  # fmt: skip
    basis = forms.CharField(
        label=_("Basis of the estimate"), required=False, max_length=LONGEST_TEXT,
        help_text=_("What the amounts are estimated from, such as an earlier job."),
    )  # fmt: skip
    confirmed_by = forms.CharField(
        label=_("Confirmed by"), required=False, max_length=300, help_text=_("Who of the business stands behind it, as a role.")
    )  # fmt: skip
    accepts_less = forms.BooleanField(label=_("Less is accepted where there is not room for all of it"), required=False)

    def __init__(self, *args: Any, projects: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["project"].choices = projects  # type: ignore[attr-defined]


class LineForm(PlainForm):
    """A line of an ask."""

    quota = forms.ChoiceField(label=_("Quota"), required=False)
    pool = forms.ChoiceField(label=_("Pool"), required=False)
    model = forms.ChoiceField(label=_("GPU model"), required=False)
    level = forms.ChoiceField(label=_("Level"), required=False, choices=list(LEVELS.items()), initial=quotas.NORMAL)
    guaranteed_gpus = _gpus(_("Guaranteed GPUs"), _("What shall be held then; elastic has none."))
    ceiling_gpus = _gpus(_("Ceiling"), _("The most at once. Empty: as many as are guaranteed."))
    gpu_hours = _gpus(_("GPU-hours"), _("Empty: no limit."), 2**53 - 1)
    hours_period = forms.ChoiceField(
        label=_("GPU-hours are"), required=False, choices=list(PERIODS.items()), initial=quotas.MONTH
    )
    from_on = _day(_("From"))
    to_on = _day(_("Until"), _("The first day without it."))

    def __init__(self, *args: Any, kind: str, options: Mapping[str, list[tuple[str, str]]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, choices in options.items():
            self.fields[name].choices = choices  # type: ignore[attr-defined]
        for name in self.fields.keys() - set(FIELDS[kind]):
            del self.fields[name]

    def given(self) -> LineGiven:
        """The line as an action takes it."""
        values = {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
        return LineGiven(**values)


def count_of(post: QueryDict) -> int:
    """How many lines a form was sent with."""
    said = post.get("lines", "1")
    return min(max(int(said), 0), MOST_LINES) if said.isascii() and said.isdecimal() and len(said) < 4 else 1


def kind_of(said: str) -> str:
    """A kind, the first where it is none."""
    return said if said in {one.value for one in rules.Kind} else Kind.NEW.value


def given_of(form: AskForm, lines: list[LineForm]) -> Given:
    """The ask of a valid form. A line on which nothing was entered yet is none."""
    filled = [one.given() for one in lines]
    kept = [one for one in filled if one.pool or one.quota]
    values = form.cleaned_data
    return Given(
        values["kind"],
        values["project"],
        kept,
        goal=values["goal"],
        basis=values["basis"],
        confirmed_by=values["confirmed_by"],
        accepts_less=values["accepts_less"],
    )


class ActingForm(PlainForm):
    """Who decides for whom, on which days."""

    deputy = forms.CharField(label=_("Who acts"), max_length=150, help_text=_("The username."))
    from_on = _day(_("From"))
    to_on = _day(_("Until"), _("The first day without it."))
    reason = forms.CharField(label=_("Reason"), required=False, max_length=300)

    def clean(self) -> dict[str, Any]:
        """Both days are wanted."""
        found: dict[str, Any] = super().clean() or {}
        for name in ("from_on", "to_on"):
            if not found.get(name) and name not in self.errors:
                self.add_error(name, _("Name the day."))
        return found


class PolicyForm(PlainForm):
    """A policy's document as it is written."""

    document = forms.CharField(
        label=_("Document"), max_length=200_000, widget=forms.Textarea(attrs={"rows": 26, "spellcheck": "false"})
    )
    note = forms.CharField(label=_("What changes, and why"), required=False, max_length=500)


def line_initial(line: Any) -> dict[str, Any]:
    """What a form of a saved line begins with."""
    return {
        "quota": line.quota.number if line.quota else "",
        "pool": line.pool.code,
        "model": line.model.code if line.model else "",
        "level": line.level,
        "guaranteed_gpus": line.guaranteed_gpus,
        "ceiling_gpus": line.ceiling_gpus,
        "gpu_hours": line.gpu_hours,
        "hours_period": line.hours_period,
        "from_on": line.from_on,
        "to_on": line.to_on,
    }


def new_line(today: date) -> dict[str, Any]:
    """What an empty line begins with."""
    return {"level": quotas.NORMAL, "hours_period": quotas.MONTH, "from_on": today}
