from django.apps import AppConfig


class ExportsConfig(AppConfig):
    """See the package's docstring."""

    name = "portal.exports"
    label = "exports"
    default_auto_field = "django.db.models.BigAutoField"
