"""The embedded PostgreSQL starts with its first user, stops with its last, and survives what happens in between."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from .conftest import PROJECT, House

ASK = "from portal import embedded; print(embedded.database_url())"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def test_the_server_starts_with_its_first_user_and_stops_with_its_last(house: House) -> None:
    first, address = house.user()
    with psycopg.connect(address) as connection:
        row = connection.execute(
            "SELECT current_database(), current_setting('server_encoding'), current_setting('TimeZone'),"
            " current_setting('listen_addresses'), current_setting('jit')"
        ).fetchone()
    assert row == ("steelyard", "UTF8", "UTC", "127.0.0.1", "off")
    house.leave(first)
    assert house.server() is None


def test_two_users_at_once_share_one_server_which_outlives_the_first_of_them(house: House) -> None:
    pair = [house.start("-c", "import sys\nsys.stdin.readline()\n" + ASK + "\nsys.stdin.readline()") for _ in range(2)]
    for process in pair:  # both are loaded, now both ask in the same moment
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    pair[0].communicate("\n", timeout=60)
    with_other = house.server()
    assert with_other is not None
    answer, _ = pair[1].communicate("\n", timeout=60)
    assert answer.startswith("postgresql://steelyard:")
    assert house.server() is None


def test_a_server_whose_user_was_killed_is_kept_and_used_again(house: House) -> None:
    user, address = house.user()
    server = house.server()
    user.kill()
    user.wait()
    assert house.server() == server is not None
    second, again = house.user()
    assert (again, house.server()) == (address, server)
    house.leave(second)
    assert house.server() is None


def test_a_forked_child_that_ends_leaves_the_server_to_its_parent_and_the_other_way_round(house: House) -> None:
    code = """
import os, sys, time, psycopg
from portal import embedded
address = embedded.database_url()
child = os.fork()
if child == 0:
    sys.exit(0)  # with the handlers of exit, as a gunicorn worker ends
os.waitpid(child, 0)
psycopg.connect(address).close()
print("parent served", flush=True)
if os.fork() == 0:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.02)
    time.sleep(0.3)
    psycopg.connect(address).close()
    print("child served", flush=True)
"""
    said = house.run("-c", code)
    assert said.stdout.split("\n")[:2] == ["parent served", "child served"], said.stderr
    deadline = time.monotonic() + 10
    while house.server() is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert house.server() is None, "the child was the last to leave"


def test_what_was_committed_survives_a_killed_server(house: House) -> None:
    user, address = house.user()
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    server = house.server()
    assert server is not None
    os.kill(server, signal.SIGKILL)
    user.kill()
    second, again = house.user()
    with psycopg.connect(again) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    house.leave(second)


def test_a_dump_of_one_home_is_loaded_into_another(house: House, tmp_path: Path) -> None:
    first, address = house.user()
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE kept AS SELECT '卡时' AS word")
    tool = ("-m", "portal.embedded", "run")
    dump = str(tmp_path / "a dump")
    assert house.run(*tool, "pg_dump", "--format=custom", f"--file={dump}").returncode == 0
    house.leave(first)
    other = {"STEELYARD_HOME": str(tmp_path / "another home")}
    restore = ("pg_restore", "--no-owner", "--exit-on-error", "--dbname=steelyard", dump)
    assert house.run(*tool, *restore, env=other).returncode == 0
    assert house.run(*tool, "psql", "-Atc", "SELECT word FROM kept", env=other).stdout == "卡时\n"
    assert house.run(*tool, "no-such-program", env=other).returncode == 1


def test_a_pid_file_whose_number_now_belongs_to_another_program_does_not_stop_the_start(house: House) -> None:
    first, _ = house.user()
    house.leave(first)
    pid_file = house.path / "postgres" / "data" / "postmaster.pid"
    pid_file.write_text(f"{os.getpid()}\n{pid_file.parent}\n0\n1\n\n127.0.0.1\n\nready\n")
    second, address = house.user()
    psycopg.connect(address).close()
    house.leave(second)


def test_a_folder_of_another_version_is_refused_in_plain_words(house: House) -> None:
    first, _ = house.user()
    house.leave(first)
    (house.path / "postgres" / "data" / "PG_VERSION").write_text("13\n")
    said = house.run("manage.py", "check")
    assert said.returncode == 1
    assert "was made by PostgreSQL 13" in said.stderr and "Traceback" not in said.stderr


def test_the_home_and_its_secrets_are_closed_to_others(house: House) -> None:
    said = house.run(
        "-c", "from portal import embedded as e; print(e.secret_key(), e.demo_password()); e.database_url()"
    )
    assert said.returncode == 0
    assert house.path.stat().st_mode & 0o777 == 0o700
    for name in ("secret_key", "demo_password", "database_password"):
        assert (house.path / name).stat().st_mode & 0o777 == 0o600
    assert said.stdout.split() == [(house.path / name).read_text().strip() for name in ("secret_key", "demo_password")]


def test_a_home_that_cannot_be_made_is_said_in_plain_words(house: House, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = house.run("manage.py", "check", env={"STEELYARD_HOME": str(tmp_path / "file" / "home")})
    assert said.returncode == 1
    assert "cannot be made" in said.stderr and "Traceback" not in said.stderr


@pytest.fixture
def open_ground() -> Iterator[Path]:
    """A folder that every user may enter, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="open ground "))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@as_root
def test_root_without_user_namespaces_runs_the_server_as_nobody(open_ground: Path) -> None:
    refusing = open_ground / "bin"
    refusing.mkdir()
    (refusing / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (refusing / "unshare").chmod(0o755)
    house = House(open_ground / "a home")
    without = {"PATH": f"{refusing}:{os.environ['PATH']}"}
    try:
        said = house.run("-c", ASK, env=without)
        assert said.returncode == 0, said.stderr
        assert (house.path / "postgres" / "data").stat().st_uid == 65534
        assert house.run("-c", ASK).returncode == 0, "and back, where namespaces work again"
    finally:
        house.close()


@as_root
def test_an_ordinary_user_runs_the_server_in_a_home_of_his_own_and_not_in_anothers(open_ground: Path) -> None:
    python = _python_of_everybody()
    (open_ground / "his").mkdir()
    os.chown(open_ground / "his", 65534, 65534)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    house = House(open_ground / "his" / "a home")
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": [], "python": python}
    env = {"PYTHONPATH": f"{PROJECT}:{packages}", "HOME": str(open_ground / "his")}
    said = house.run("-c", ASK, env=env, **as_nobody)
    assert said.returncode == 0, said.stderr
    assert (house.path / "postgres" / "data").stat().st_uid == 65534
    assert house.server() is None

    roots = House(open_ground / "roots home")
    assert roots.run("-c", ASK).returncode == 0
    refused = roots.run("manage.py", "check", env=env, **as_nobody)
    assert refused.returncode == 1
    assert "belongs to user id 0" in refused.stderr and "Traceback" not in refused.stderr


def _python_of_everybody() -> str:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        try:
            reads = subprocess.run([python, "-c", f"open({str(PROJECT / 'manage.py')!r})"], user=65534, group=65534)
        except OSError:
            continue
        if reads.returncode == 0:
            return python
    pytest.skip("user 65534 may run no Python of this version, or not read the project")
