from django.apps import AppConfig


class PortalConfig(AppConfig):
    """The shell."""

    name = "portal"
    label = "portal"
