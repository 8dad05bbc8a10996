from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.tenants"
    label = "tenants"
    default_auto_field = "django.db.models.BigAutoField"
