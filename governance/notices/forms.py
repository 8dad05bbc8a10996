"""Forms of channels and of the ways by which notices come."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.utils.translation import get_language_info, gettext_lazy
from django.utils.translation import gettext as _

from governance.access.actor import Actor
from governance.errors import BadData

from . import channels, guard, registry, robots
from .channel_models import DINGTALK, FEISHU, SITE, WEBHOOK, WECOM
from .models import Channel

KINDS = (
    (WEBHOOK, gettext_lazy("Signed webhook")),
    (FEISHU, gettext_lazy("Feishu group robot")),
    (DINGTALK, gettext_lazy("DingTalk group robot")),
    (WECOM, gettext_lazy("WeCom group robot")),
)
SCOPES = {"department": gettext_lazy("Department"), "project": gettext_lazy("Project")}


def scope_words(kind: str, code: str, name: str) -> str:
    """A scope as it is shown."""
    if kind == SITE:
        return _("The whole site")
    return f"{SCOPES.get(kind, kind)} {name or code}"


class ChannelForm(forms.Form):
    """A channel: new, or one that is there, whose kind and scope stay."""

    kind = forms.ChoiceField(label=gettext_lazy("Kind"), choices=KINDS)
    name = forms.CharField(label=gettext_lazy("Name of the channel"), max_length=100)
    scope = forms.ChoiceField(label=gettext_lazy("Events of"))
    url = forms.CharField(label=gettext_lazy("Address"), max_length=guard.LONGEST_URL)
    secret = forms.CharField(label=gettext_lazy("Secret of the robot"), max_length=200, required=False)
    language = forms.ChoiceField(label=gettext_lazy("Language"))
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Which events"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, data: Any = None, *, actor: Actor, channel: Channel | None = None) -> None:
        """`channel`: the one that is changed, None for a new one."""
        super().__init__(data, initial=_initial(channel) if channel else {"language": settings.LANGUAGE_CODE})
        self.channel = channel
        self.fields["language"].choices = [  # type: ignore[attr-defined]
            (code, get_language_info(code)["name_local"]) for code, _name in settings.LANGUAGES
        ]
        self.fields["events"].choices = [(one.code, event_words(one)) for one in channels.sendable()]  # type: ignore[attr-defined]
        if channel is None:
            self.fields["scope"].choices = [  # type: ignore[attr-defined]
                (f"{kind}:{code}", scope_words(kind, code, name)) for kind, code, name in channels.scopes_of(actor)
            ]
            self.fields["secret"].help_text = _(
                "Where the robot checks signatures. Webhooks get theirs from here; WeCom has none."
            )
        else:
            del self.fields["kind"], self.fields["scope"]
            self.fields["url"].required = False
            self.fields["url"].help_text = _("Leave it empty to keep the one there is. A new one makes you the owner.")
            if channel.kind in robots.KINDS_WITH_SECRET:
                self.fields["secret"].help_text = _("Leave it empty to keep the one there is.")
            else:
                del self.fields["secret"]
        for name in self.fields:
            if name == "events":
                continue
            widget = self.fields[name].widget
            widget.attrs |= {"class": "in", "autocomplete": "off"}
            if self.is_bound and name in self.errors:
                widget.attrs |= {"aria-invalid": "true", "aria-describedby": f"id_{name}-err"}

    def event_groups(self) -> list[tuple[str, list[tuple[Any, str]]]]:
        """(name of a group, its boxes with the code of each event), for the page."""
        boxes = {str(box.data["value"]): box for box in self["events"]}
        found: dict[str, list[tuple[Any, str]]] = {}
        for event in channels.sendable():
            found.setdefault(_(registry.GROUPS[event.group].name), []).append((boxes[event.code], event.code))
        return list(found.items())

    def clean_url(self) -> str:
        """An address to which something may be sent; "" where the old one is kept."""
        url = str(self.cleaned_data["url"])
        if url:
            try:
                guard.check_url(url)
            except BadData as fault:
                raise forms.ValidationError(_(fault.message) % fault.params) from None
        return url

    def clean(self) -> dict[str, Any]:
        """A secret belongs to the kinds that have one."""
        found: dict[str, Any] = super().clean() or {}
        kind = self.channel.kind if self.channel else found.get("kind")
        if found.get("secret") and kind not in robots.KINDS_WITH_SECRET:
            self.add_error("secret", _("This kind has no secret to enter. Leave it empty."))
        return found

    def given(self) -> dict[str, Any]:
        """The values for the action."""
        found = dict(self.cleaned_data)
        scope = found.pop("scope", "")
        if self.channel is None:
            kind, _colon, code = scope.partition(":")
            found["scope"] = (kind, code)
        return found


def event_words(event: Any) -> str:
    """An event by its name alone, without facts."""
    return _(event.title) % _Dots()


class _Dots(dict[str, str]):
    """Stands in for the facts where only the event is named."""

    def __missing__(self, name: str) -> str:
        return "…"


def _initial(channel: Channel) -> dict[str, Any]:
    return {"name": channel.name, "language": channel.language, "events": channel.events}


class WhenForm(forms.Form):
    """When the digest goes out."""

    digest_hour = forms.TypedChoiceField(
        label=gettext_lazy("Digest at"), coerce=int, choices=[(hour, f"{hour:02d}:00") for hour in range(24)]
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        required=False,
        max_length=64,
        help_text=gettext_lazy("Such as Asia/Shanghai or Europe/Berlin. Empty: the billing time zone."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.fields:
            self.fields[name].widget.attrs["class"] = "in"
            if self.is_bound and name in self.errors:
                self.fields[name].widget.attrs |= {"aria-invalid": "true", "aria-describedby": f"id_{name}-err"}

    def clean_time_zone(self) -> str:
        """A name of the time zone database."""
        zone = str(self.cleaned_data["time_zone"]).strip()
        if zone and zone not in available_timezones():
            raise forms.ValidationError(
                _("“%(zone)s” is no time zone. Write one such as Asia/Shanghai.") % {"zone": zone}
            )
        return zone
