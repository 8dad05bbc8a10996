from django.apps import AppConfig


class UsageConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.usage"
    label = "usage"
    default_auto_field = "django.db.models.BigAutoField"
