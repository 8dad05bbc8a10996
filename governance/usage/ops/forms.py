"""The form of a live cluster: names, and where its scheduler is. Secrets are named by reference and never typed here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from governance.catalogue.models import Cluster
from governance.catalogue.reads import installation
from governance.schedulers.registry import SCHEDULERS

from .secrets import looks_secret
from .words import KINDS

CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.:_-]*[A-Za-z0-9])?")
LOGIN = re.compile(r"[A-Za-z_][A-Za-z0-9._@\\-]*")
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
VERSION = re.compile(r"v\d+\.\d+\.\d+")
VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
#: Variables that hold the portal's own secrets: they are nobody else's token.
OWN = frozenset(
    {"STEELYARD_SECRET_KEY", "DATABASE_URL", "BROKER_URL", "STEELYARD_METRICS_TOKEN", "STEELYARD_REFUSED_TOKEN"}
)
RESERVED = frozenset({"new"})
NAMES = ("code", "name_zh", "name_en", "kind", "cluster_name", "time_zone", "tracks_gpus")
#: The keys of a connection, by kind.
CONNECTIONS: dict[str, tuple[str, ...]] = {
    "slurm": ("host", "port", "user", "identity_file", "known_hosts", "cluster", "bin_dir", "slurm_conf"),
    "slurmrestd": ("url", "socket", "version", "token_env", "token_file", "ca_file", "user", "cluster"),
}
#: Kept as they are where a form does not show them.
UNSHOWN = {"slurm": ("silent_s", "total_s"), "slurmrestd": ("silent_s", "total_s", "verify")}
PATHS = ("identity_file", "known_hosts", "bin_dir", "slurm_conf", "socket", "token_file", "ca_file")
#: What does not fit here may be a secret that was typed in the wrong place: it is not shown again.
REFERENCES = frozenset({"identity_file", "known_hosts", "token_env", "token_file"})

SECRET = _("This looks like a secret, so it was not kept. Name the file or the variable that holds it instead.")
PATH = _("Give an absolute path on the portal's host, such as /etc/steelyard/id_ed25519.")
PATH_THERE = _("Give an absolute path on the scheduler's host, such as /opt/slurm/bin.")


class ClusterForm(forms.Form):
    """A cluster as operations type it. What looks like a secret is refused and does not come back with the form."""

    code = forms.CharField(
        label=_("Code"), max_length=64, help_text=_("Letters, digits, “.”, “_” and “-”. It stays for ever.")
    )
    name_zh = forms.CharField(label=_("Name in Chinese"), max_length=200, required=False)
    name_en = forms.CharField(label=_("Name in English"), max_length=200, required=False)
    kind = forms.ChoiceField(label=_("Scheduler"))
    cluster_name = forms.CharField(
        label=_("The scheduler's own name"),
        max_length=200,
        required=False,
        help_text=_("As records name it (ClusterName in slurm.conf), several by commas; empty: the code."),
    )
    time_zone = forms.CharField(
        label=_("Time zone"),
        max_length=64,
        help_text=_("Of times in files that carry no offset, such as Asia/Shanghai."),
    )
    tracks_gpus = forms.BooleanField(label=_("The accounting counts GPUs"), required=False)
    host = forms.CharField(
        label=_("Host"),
        max_length=255,
        required=False,
        help_text=_("Reached by ssh; empty: the commands of the portal's own host."),
    )
    port = forms.IntegerField(label=_("Port"), min_value=1, max_value=65_535, required=False)
    user = forms.CharField(
        label=_("User"),
        max_length=64,
        required=False,
        help_text=_("Of ssh; with slurmrestd Slurm's own, where a proxy asks for it."),
    )
    identity_file = forms.CharField(
        label=_("Private key file"),
        max_length=255,
        required=False,
        help_text=_("A path that the portal's user may read, not the key."),
    )
    known_hosts = forms.CharField(
        label=_("Known hosts file"),
        max_length=255,
        required=False,
        help_text=_("Holds the host's key; another key is refused."),
    )
    cluster = forms.CharField(
        label=_("Slurm cluster"),
        max_length=64,
        required=False,
        help_text=_("Where the accounting serves several (sacct -M)."),
    )
    bin_dir = forms.CharField(label=_("Folder of Slurm's commands"), max_length=255, required=False)
    slurm_conf = forms.CharField(label=_("Path of slurm.conf"), max_length=255, required=False)
    url = forms.CharField(
        label=_("Address"),
        max_length=255,
        required=False,
        help_text=_("Of slurmrestd, such as https://slurm.example.com:6820."),
    )
    socket = forms.CharField(
        label=_("Unix socket"),
        max_length=107,
        required=False,
        help_text=_("Or its path, where slurmrestd runs on this host."),
    )
    version = forms.CharField(
        label=_("Version of the interface"),
        max_length=16,
        required=False,
        help_text=_("Such as v0.0.42; empty: the newest that both sides know."),
    )
    token_env = forms.CharField(
        label=_("Token variable"),
        max_length=64,
        required=False,
        help_text=_("The name of the environment variable that holds the token."),
    )
    token_file = forms.CharField(
        label=_("Token file"), max_length=255, required=False, help_text=_("Or the path of a file that holds it.")
    )

    ca_file = forms.CharField(
        label=_("Certificate file"),
        max_length=255,
        required=False,
        help_text=_("Of the authority, where it is one of your own."),
    )

    def __init__(self, data: QueryDict | None = None, *, cluster: Cluster | None = None) -> None:
        self.standing = cluster
        self.secretive: set[str] = set()
        super().__init__(self._without_secrets(data), initial=_initial(cluster), label_suffix="")
        kinds = ["files", *sorted(SCHEDULERS)]
        if cluster is not None:
            kinds += [cluster.scheduler_kind] if cluster.scheduler_kind not in kinds else []
            del self.fields["code"]
        self.fields["kind"].choices = [(kind, KINDS.get(kind, kind)) for kind in kinds]  # type: ignore[attr-defined]
        for field in self.fields.values():
            field.error_messages["required"] = _("Fill this in.")
        self.fields["kind"].error_messages["invalid_choice"] = _("Choose one of these.")
        port = self.fields["port"]
        for word in ("invalid", "min_value", "max_value"):
            port.error_messages[word] = _("Give a number from 1 to 65535.")
        for kind, keys in CONNECTIONS.items():
            if kind not in kinds:
                for key in set(keys) - {key for other in kinds for key in CONNECTIONS.get(other, ())}:
                    self.fields.pop(key, None)

    def _without_secrets(self, data: QueryDict | None) -> QueryDict | None:
        if data is None:
            return None
        kept = data.copy()
        for name in self.base_fields:
            if any(looks_secret(value) for value in kept.getlist(name)):
                self.secretive.add(name)
                kept[name] = ""
        return kept

    def groups(self) -> list[tuple[str | Promise, list[forms.BoundField]]]:
        """The fields as the page groups them, each group with its heading."""
        heads: list[tuple[str | Promise, tuple[str, ...]]] = [
            (_("Cluster"), (*NAMES, "cluster")),
            (_("Slurm by its commands"), CONNECTIONS["slurm"]),
            (_("Slurm by slurmrestd"), CONNECTIONS["slurmrestd"]),
        ]
        shown: set[str] = set()
        found = []
        for head, names in heads:
            fields = [self[name] for name in names if name in self.fields and name not in shown]
            shown |= set(names)
            if fields:
                found.append((head, fields))
        for _head, fields in found:
            for field in fields:
                self._dress(field)
        return found

    def _dress(self, field: forms.BoundField) -> None:
        attrs = field.field.widget.attrs
        if not isinstance(field.field, forms.BooleanField):
            attrs["class"] = "in"
        notes = [f"{field.id_for_label}-help"] if field.field.help_text else []
        if field.errors:
            attrs["aria-invalid"] = "true"
            notes.append(f"{field.id_for_label}-err")
        if notes:
            attrs["aria-describedby"] = " ".join(notes)
        attrs["autocomplete"] = "off"

    def clean(self) -> dict[str, Any]:
        """What each value must be, and what the kind needs."""
        given = super().clean() or {}
        for name, pattern, words in (
            ("code", CODE, _("Begin with a letter or digit; then letters, digits, “.”, “_” and “-”.")),
            ("host", HOST, _("Give a host name or an address, without a scheme, a path or a user.")),
            ("user", LOGIN, _("Give a login name without spaces or colons.")),
            ("cluster", WORD, _("Give one name without spaces.")),
            ("version", VERSION, _("Write it as v0.0.42.")),
        ):
            if given.get(name) and not pattern.fullmatch(given[name]):
                self.add_error(name, str(words))
        if given.get("code") in RESERVED:
            self.add_error("code", gettext("This code is taken by a page. Choose another."))
        if given.get("time_zone") and given["time_zone"] not in available_timezones():
            self.add_error(
                "time_zone", gettext("There is no such time zone. Write a name such as Asia/Shanghai or UTC.")
            )
        for name in PATHS:
            path = given.get(name)
            if path and (not path.startswith("/") or "\n" in path):
                self.add_error(name, str(PATH_THERE if name in ("bin_dir", "slurm_conf") else PATH))
        if not all(part == "*" or WORD.fullmatch(part) for part in _parts(given.get("cluster_name", ""))):
            self.add_error("cluster_name", gettext("Give names without spaces, several by commas, or “*” for any."))
        self._clean_kind(given)
        self._tell_secrets()
        return given

    def _clean_kind(self, given: Mapping[str, Any]) -> None:
        if given.get("kind") == "slurm" and given.get("host") and not given.get("known_hosts"):
            self._need(
                "known_hosts", gettext("A host needs a file that holds its key: without it nobody knows who answers.")
            )
        if given.get("token_env"):
            if not VARIABLE.fullmatch(given["token_env"]):
                self.add_error(
                    "token_env", gettext("Give the name of a variable, in capitals with “_”, such as SLURM_TOKEN_BJ.")
                )
            elif given["token_env"] in OWN:
                self.add_error(
                    "token_env", gettext("This variable holds a secret of the portal itself. Choose another.")
                )
        if given.get("kind") != "slurmrestd":
            return
        parts = urlsplit(given.get("url", ""))
        if given.get("socket") and given.get("url"):
            self._need("socket", gettext("Give either an address or a Unix socket."))
        elif given.get("socket"):
            return
        elif parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or parts.query:
            self._need(
                "url", gettext("Give an address that begins with http:// or https:// and holds no user and no token.")
            )
        if bool(given.get("token_env")) == bool(given.get("token_file")):
            self._need("token_env", gettext("Name either the variable or the file that holds the token."))

    def _need(self, name: str, words: str) -> None:
        if name not in self.errors and name not in self.secretive:
            self.add_error(name, words)

    def _tell_secrets(self) -> None:
        for name in self.secretive & set(self.fields):
            self.errors.pop(name, None)
            self.add_error(name, str(SECRET))

    def full_clean(self) -> None:
        """Check, and take back what was typed where a reference belongs and is none."""
        super().full_clean()
        refused = REFERENCES & set(self.errors) if self.is_bound else set()
        if refused and isinstance(self.data, QueryDict):
            kept = self.data.copy()
            for name in refused:
                kept[name] = ""
            self.data = kept

    def values(self) -> dict[str, Any]:
        """What `put_clusters` takes, after the form was found valid."""
        given = self.cleaned_data
        standing: dict[str, Any] = self.standing.connection if self.standing else {}
        kind = given["kind"]
        connection = {key: given[key] for key in CONNECTIONS.get(kind, ()) if given.get(key) not in (None, "")}
        connection |= {key: standing[key] for key in UNSHOWN.get(kind, ()) if key in standing}
        if kind not in CONNECTIONS and kind != "files":
            connection = standing  # a kind that this form does not know keeps what it has
        return {
            "name_zh": given["name_zh"],
            "name_en": given["name_en"],
            "kind": kind,
            "cluster_name": _parts(given["cluster_name"]),
            "time_zone": given["time_zone"],
            "tracks_gpus": given["tracks_gpus"],
            "connection": connection,
        }


def _parts(text: str) -> list[str]:
    return list(dict.fromkeys(part for part in (piece.strip() for piece in text.split(",")) if part))


def _initial(cluster: Cluster | None) -> dict[str, Any]:
    if cluster is None:
        return {"kind": "slurm", "time_zone": installation().time_zone, "tracks_gpus": True}
    return {
        "name_zh": cluster.name_zh,
        "name_en": cluster.name_en,
        "kind": cluster.scheduler_kind,
        "cluster_name": ", ".join(cluster.scheduler_names),
        "time_zone": cluster.time_zone,
        "tracks_gpus": cluster.tracks_gpus,
        **{key: value for key, value in cluster.connection.items() if key in ClusterForm.base_fields},
    }
