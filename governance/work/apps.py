from django.apps import AppConfig


class WorkConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.work"
    label = "work"
    default_auto_field = "django.db.models.BigAutoField"
