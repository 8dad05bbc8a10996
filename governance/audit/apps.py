from django.apps import AppConfig


class AuditConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.audit"
    label = "audit"
    default_auto_field = "django.db.models.BigAutoField"
