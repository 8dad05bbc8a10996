from typing import Any

from django.apps import AppConfig
from django.db.backends.signals import connection_created


class PortalConfig(AppConfig):
    """The shell."""

    name = "portal"
    label = "portal"

    def ready(self) -> None:
        """Every connection asks the server to notice soon when we are gone."""
        connection_created.connect(_notice_us_gone, dispatch_uid="portal.reach")


def _notice_us_gone(connection: Any, **given: Any) -> None:
    """A host that is cut off cannot end its session: until the server notices, its locks hold up whoever takes over.

    By SET and not by the connection's options, which poolers refuse.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3")
