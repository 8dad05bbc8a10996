from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class NoticesConfig(AppConfig):
    """See the package's docstring."""

    name = "governance.notices"
    label = "notices"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Every topic's events and kinds are known once all apps are loaded."""
        autodiscover_modules("notices")
        from governance.access.backends import BESIDE_PERSON

        from .reads import UNREAD

        BESIDE_PERSON["unread_notices"] = UNREAD
