from django.apps import AppConfig


class DoorsConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.doors"
    label = "doors"
    default_auto_field = "django.db.models.BigAutoField"
