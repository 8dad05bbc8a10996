"""A database of the bench's own on the installation's server: made, migrated, dropped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
from psycopg import sql


@contextmanager
def scratch_database() -> Iterator[str]:
    """Make an empty database, name it in DATABASE_URL, start Django on it and migrate; drop it in the end. Answers the URL.

    Nothing may have asked for Django's settings before. The server is DATABASE_URL's, or the embedded one.
    """
    from portal import embedded

    server = os.environ.get("DATABASE_URL") or embedded.database_url()
    name = f"steelyard_bench_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        os.environ["DATABASE_URL"] = urlsplit(server)._replace(path=f"/{name}").geturl()
        os.environ.setdefault("BROKER_URL", "memory://")
        start_django()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        yield os.environ["DATABASE_URL"]
    finally:
        _close()
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def start_django() -> None:
    """Django on the database that DATABASE_URL names."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    django.setup()


def _close() -> None:
    from django.db import connections

    connections.close_all()
