from django.apps import AppConfig


class CatalogueConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.catalogue"
    label = "catalogue"
    default_auto_field = "django.db.models.BigAutoField"
