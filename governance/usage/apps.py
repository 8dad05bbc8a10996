from typing import Any

from django.apps import AppConfig
from django.apps import apps as present
from django.db.models.signals import post_migrate


class UsageConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.usage"
    label = "usage"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """After every `migrate` the release's metric dictionary stands in the database."""
        post_migrate.connect(_sync_dictionary, sender=self, dispatch_uid="usage.metric_dictionary")


def _sync_dictionary(apps: Any = present, **given: Any) -> None:
    from governance.access.actor import Actor

    from .metrics.actions import sync_dictionary

    # Half-way back through the migrations the table may be gone or of an older shape.
    model = apps.all_models["usage"].get("metricdefinition")
    if model is not None and any(field.name == "option_zh" for field in model._meta.fields):
        sync_dictionary(Actor.machine("migrate"))
