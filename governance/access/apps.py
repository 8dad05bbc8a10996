from django.apps import AppConfig


class AccessConfig(AppConfig):
    """People and the actor."""

    name = "governance.access"
    label = "access"
    default_auto_field = "django.db.models.BigAutoField"
