from django.apps import AppConfig


class QuotasConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.quotas"
    label = "quotas"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Its events and objects are known to notices."""
        from . import notices  # noqa: F401
