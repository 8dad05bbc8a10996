"""Fixtures that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests.slurm.job_mix import mix  # noqa: F401  (one lab and one mix of jobs for all tests of a session)
from tests.slurm.labs import slurmlab_up  # noqa: F401

# A busy machine is no fault: outcomes are asserted, times are measured by the bench. Where a change is judged (CI), the examples are the
# same each time, so that it is judged by itself; everywhere else new ones are looked for.
hypothesis_settings.register_profile(
    "steelyard",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
hypothesis_settings.load_profile("steelyard")

if TYPE_CHECKING:
    from tests.cast import Cast


@pytest.fixture(autouse=True)
def static_files_without_a_manifest(settings: object) -> None:
    """Pages are answered without `collectstatic` having run."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def in_english(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts are English unless a test asks for another language, whatever catalogues happen to be compiled."""
    monkeypatch.setenv("STEELYARD_LANGUAGE", "en")
    with translation.override("en"):
        yield


@pytest.fixture(scope="module")
def cast_of_module(
    django_db_setup: None, django_db_blocker: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cast]:
    """The small company with everybody in it, made once a module inside a transaction that is rolled back at its end."""
    from django.db import transaction

    from tests.cast import assemble

    with django_db_blocker.unblock(), transaction.atomic():  # type: ignore[attr-defined]
        yield assemble(tmp_path_factory.mktemp("records"))
        transaction.set_rollback(True)


@pytest.fixture
def cast(cast_of_module: Cast, db: None) -> Cast:
    """The small company with everybody in it, and a June of runs metered and posted; what a test changes goes with the test."""
    return cast_of_module


@pytest.fixture(scope="session")
def test_database(django_db_setup: None, django_db_blocker: object) -> Iterator[None]:
    """There is a database of the tests, whichever of them run: where none is marked for it, pytest-django makes none.

    Who writes outside a transaction stands on this: what is emptied or copied is never a database that is used.
    """
    from django.db import connection
    from django.test.utils import setup_databases, teardown_databases

    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        of = connection.settings_dict
        is_of_tests = str(of["NAME"]).startswith(of["TEST"]["NAME"] or "test_")
        made = None if is_of_tests else setup_databases(verbosity=0, interactive=False, aliases={"default"})
        connection.close()
        yield
        if made is not None:
            connection.close()
            teardown_databases(made, verbosity=0)


@pytest.fixture
def apart(test_database: None, django_db_blocker: object) -> Iterator[None]:
    """A copy of the empty test database for this test alone: what it commits, threads of its own see, and nothing is left.

    Not beside `cast` in one module: a database in use cannot be copied. (The journal refuses to be flushed by Django.)
    """
    import psycopg
    from django.db import connection, connections

    given = connections.settings["default"]
    name = given["NAME"]
    login = {"host": given["HOST"], "port": given["PORT"], "user": given["USER"], "password": given["PASSWORD"]}
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        connections.close_all()
        with psycopg.connect(dbname="postgres", autocommit=True, **login) as server:
            server.execute(f'DROP DATABASE IF EXISTS "{name}_apart" WITH (FORCE)')
            server.execute(f'CREATE DATABASE "{name}_apart" TEMPLATE "{name}"')
            given["NAME"] = connection.settings_dict["NAME"] = f"{name}_apart"
            try:
                yield
            finally:
                connections.close_all()
                given["NAME"] = connection.settings_dict["NAME"] = name
                server.execute(f'DROP DATABASE IF EXISTS "{name}_apart" WITH (FORCE)')
