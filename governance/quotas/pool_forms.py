"""Forms of what holds for whole pools: offerings, queue rules, how far a pool may be promised, shares of departments."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from governance.tenants.models import Department

from . import rules
from .forms import MOST, QuotaForm, day_field
from .pool_terms import CODE
from .wording import LEVELS, POLICIES

MINUTES = MOST // 60


def _whole(
    label: Any, least: int, most: int = MOST, *, help_text: Any = "", required: bool = True
) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=least, max_value=most, help_text=help_text, required=required)


def _limit(label: Any, most: int = MOST) -> forms.IntegerField:
    return _whole(label, 1, most, help_text=_("Empty: no limit."), required=False)


class TermsForm(QuotaForm):
    """What holds from a day on. `fixed`: fields that are settled, as when what stands is changed."""

    from_on = day_field(_("From"), help_text=_("Until then it stays as it is."))
    to_on = day_field(_("Until"), required=False, help_text=_("The first day without it. Empty: without an end."))

    def __init__(self, *args: Any, fixed: tuple[str, ...] = (), **kwargs: Any) -> None:
        self.fixed = fixed
        super().__init__(*args, **kwargs)

    def prepare(self) -> None:
        """Without what is settled; the days last."""
        for name in self.fixed:
            del self.fields[name]
        self.order_fields([name for name in self.fields if name not in ("from_on", "to_on")])

    def clean(self) -> dict[str, Any]:
        """The days lie in order."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if given.get("from_on") and given.get("to_on") and given["to_on"] <= given["from_on"]:
            self.add_error("to_on", _now("The last day lies before the first."))
        return given


class OfferingForm(TermsForm):
    """A pool offered at a level."""

    code = forms.CharField(
        label=_("Code"),
        max_length=64,
        validators=[
            RegexValidator(rf"^(?:{CODE.pattern})\Z", _("Small letters, digits, dots, dashes and underscores."))
        ],
        help_text=_("Never used before, such as train-normal."),
    )
    level = forms.ChoiceField(label=_("Level"), choices=list(LEVELS.items()), initial=rules.NORMAL)
    qos = forms.CharField(label=_("QoS"), max_length=128, help_text=_("The name the scheduler's records carry."))
    name_zh = forms.CharField(label=_("Chinese name"), max_length=200, required=False)
    name_en = forms.CharField(label=_("English name"), max_length=200, required=False)
    min_gpus = _whole(_("Least GPUs of an ask"), 1)
    step_gpus = _whole(_("Step"), 1, help_text=_("GPUs are asked for in multiples of it."))
    max_gpus = _limit(_("Most GPUs of an ask"))
    max_days = _limit(_("Longest term in days"))
    max_wall_minutes = _limit(_("Longest run of a job in minutes"), MINUTES)
    min_run_minutes = _whole(
        _("Minutes before a job may be displaced"), 1, MINUTES, required=False, help_text=_("Empty: at any time.")
    )
    service_level = forms.DecimalField(
        label=_("Service level"),
        required=False,
        min_value=Decimal("0.001"),
        max_value=100,
        max_digits=6,
        decimal_places=3,
        help_text=_("Percent of the month. Empty: none is promised."),
    )
    departments = forms.CharField(
        label=_("Only for departments"),
        required=False,
        max_length=2000,
        help_text=_("Their codes, with spaces between. Empty: for all."),
    )

    def clean_departments(self) -> tuple[str, ...]:
        """Codes of departments that are there."""
        codes = tuple(sorted(set(self.cleaned_data["departments"].replace(",", " ").split())))
        known = set(Department.objects.filter(code__in=codes).values_list("code", flat=True))
        for code in codes:
            if code not in known:
                raise _no_department(code)
        return codes

    def clean(self) -> dict[str, Any]:
        """The most is not below the least."""
        given = super().clean()
        if given.get("max_gpus") and given.get("min_gpus") and given["max_gpus"] < given["min_gpus"]:
            self.add_error("max_gpus", _now("The most GPUs of an ask lie below the least."))
        return given


class RuleForm(TermsForm):
    """How a level stands in the queue."""

    level = forms.ChoiceField(label=_("Level"), choices=list(LEVELS.items()), initial=rules.NORMAL)
    priority = _whole(_("Priority"), 0, help_text=_("The higher goes first."))
    preempts = forms.MultipleChoiceField(
        label=_("May displace"),
        required=False,
        choices=list(LEVELS.items()),
        widget=forms.SelectMultiple(attrs={"size": len(LEVELS)}),
        help_text=_("Levels whose jobs it may displace."),
    )
    preempted_jobs = forms.ChoiceField(
        label=_("A displaced job"), choices=[("requeue", _("is queued again")), ("cancel", _("ends"))]
    )
    pool_share_percent = _whole(_("Percent of the pool at most"), 1, 100)


class PolicyForm(TermsForm):
    """How far the pool may be promised."""

    kind = forms.ChoiceField(label=_("How it is promised"), choices=list(POLICIES.items()))
    factor = forms.DecimalField(
        label=_("Times the healthy GPUs"),
        min_value=Decimal("0.001"),
        max_value=Decimal("999.999"),
        max_digits=6,
        decimal_places=3,
        help_text=_("1: no more than the pool has. Shared by departments, their shares bind instead."),
    )


class ShareForm(TermsForm):
    """How much of the pool a department's projects may be guaranteed."""

    department = forms.CharField(
        label=_("Department"), max_length=64, help_text=_("Its code."), widget=forms.TextInput({"list": "departments"})
    )
    gpus = _whole(_("GPUs"), 0)

    def clean_department(self) -> str:
        """The code of a department that is there."""
        code: str = self.cleaned_data["department"]
        if not Department.objects.filter(code=code).exists():
            raise _no_department(code)
        return code


class EndTermsForm(QuotaForm):
    """The end of what holds."""

    from_on = day_field(_("Ends on"), help_text=_("The first day without it."))


def _no_department(code: str) -> forms.ValidationError:
    return forms.ValidationError(_("There is no department “%(code)s”."), params={"code": code})
