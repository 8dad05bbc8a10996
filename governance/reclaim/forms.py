"""Forms of reclaim: a rule's terms."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from governance.approvals.forms import PlainForm

from .rules import Terms
from .wording import KINDS


class RuleForm(PlainForm):
    """What a rule looks for."""

    code = forms.SlugField(label=_("Code"), max_length=48, help_text=_("The next version of a rule has the same code."))
    name_zh = forms.CharField(label=_("Name in Chinese"), required=False, max_length=200)
    name_en = forms.CharField(label=_("Name in English"), required=False, max_length=200)
    kind = forms.ChoiceField(label=_("What it looks for"), choices=list(KINDS.items()))
    pool = forms.ChoiceField(label=_("Pool"), required=False)
    window_days = forms.IntegerField(label=_("Whole days looked at"), min_value=1, max_value=366, initial=14)
    below_percent = forms.IntegerField(
        label=_("Below this share (%)"), min_value=0, max_value=100, initial=30,
        help_text=_("Unused where the 95th percentile of the days lies below it."),
    )  # fmt: skip
    keep_percent = forms.IntegerField(label=_("Left above it (%)"), min_value=0, max_value=100, initial=20)
    step_gpus = forms.IntegerField(
        label=_("In steps of (GPUs)"), min_value=1, max_value=100_000, initial=8, help_text=_("What is left is rounded up to them.")
    )  # fmt: skip
    min_gpus = forms.IntegerField(label=_("At least (GPUs)"), min_value=1, max_value=100_000, initial=1)
    notice_hours = forms.IntegerField(label=_("Notice (hours)"), min_value=1, max_value=24 * 90, initial=24)

    stops_interactive = forms.BooleanField(
        label=_("End idle runs of interactive pools once they are due"), required=False,
        help_text=_("For idle GPUs only, where the portal may write to the scheduler. In all other pools nothing that runs is stopped."),
    )  # fmt: skip

    def __init__(self, *args: Any, pools: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["pool"].choices = [("", _("all pools")), *pools]  # type: ignore[attr-defined]

    def terms(self) -> Terms:
        """As an action takes them."""
        return Terms(**{name: self.cleaned_data[name] for name in Terms.__dataclass_fields__})
