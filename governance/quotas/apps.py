from django.apps import AppConfig


class QuotasConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.quotas"
    label = "quotas"
    default_auto_field = "django.db.models.BigAutoField"
