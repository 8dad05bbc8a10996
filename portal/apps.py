from typing import Any

from django.apps import AppConfig
from django.conf import settings
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

    Keepalives end a session that is idle, the user timeout one whose answer is never acknowledged. By SET and not by the
    connection's options, which poolers refuse.
    """
    reach = settings.REACH
    with connection.cursor() as cursor:
        cursor.execute(
            f"SET tcp_keepalives_idle = {int(reach['keepalives_idle'])};"
            f" SET tcp_keepalives_interval = {int(reach['keepalives_interval'])};"
            f" SET tcp_keepalives_count = {int(reach['keepalives_count'])};"
            f" SET tcp_user_timeout = {int(reach['tcp_user_timeout'])}"
        )
