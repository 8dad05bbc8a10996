from django.apps import AppConfig


class ReclaimConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.reclaim"
    label = "reclaim"
    default_auto_field = "django.db.models.BigAutoField"
