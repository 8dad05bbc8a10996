"""The services that an installation brings with it, so that it needs nothing but Python.

`database_url()` starts a private PostgreSQL when it is first asked for and stops it when its last user leaves;
`broker_url()` names the broker that `make up` runs. With DATABASE_URL or BROKER_URL set, nobody asks here.
"""

from portal.embedded.broker import broker_url, start_broker, stop_broker
from portal.embedded.errors import EmbeddedError
from portal.embedded.folder import PROJECT_ROOT, demo_password, home, secret_key
from portal.embedded.postgres import (
    database_url,
    is_running,
    release_database,
    revive_database,
    stop_unused_database,
)

__all__ = [
    "PROJECT_ROOT",
    "EmbeddedError",
    "broker_url",
    "database_url",
    "demo_password",
    "home",
    "is_running",
    "release_database",
    "revive_database",
    "secret_key",
    "start_broker",
    "stop_broker",
    "stop_unused_database",
]
