"""`python -m portal.embedded`: look at the embedded database, stop one that a killed process left, run its programs."""

import argparse
import os
import subprocess
import sys
from urllib.parse import unquote, urlsplit

from portal import embedded
from portal.embedded.server_user import client_program


def main() -> int:
    """Do what the arguments ask; the status is 1 when the database does not run (status) or is in use (stop)."""
    parser = argparse.ArgumentParser(prog="python -m portal.embedded", description=__doc__)
    ways = parser.add_subparsers(dest="what", required=True)
    ways.add_parser("status", help="does the database run?")
    ways.add_parser("stop", help="stop it, if nobody uses it")
    ways.add_parser("url", help="its address, password included")
    run = ways.add_parser("run", help="run psql, pg_dump, pg_restore … on it")
    run.add_argument("program")
    run.add_argument("arguments", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    try:
        if asked.what == "url":
            print(embedded.database_url())
            return 0
        if asked.what == "run":
            return run_program(asked.program, asked.arguments)
        return stop() if asked.what == "stop" else status()
    except embedded.EmbeddedError as fault:
        print(fault, file=sys.stderr)
        return 1


def status() -> int:
    """Say where the home is and whether its database runs."""
    running = embedded.is_running()
    print(f"Home: {embedded.home()}\nDatabase: {'runs' if running else 'does not run'}")
    return 0 if running else 1


def stop() -> int:
    """Stop a database that nobody uses."""
    if not embedded.is_running():
        print("The database does not run.")
        return 0
    stopped = embedded.stop_unused_database()
    print("The database is stopped." if stopped else "The database is in use: its last user will stop it.")
    return 0 if stopped else 1


def run_program(name: str, arguments: list[str]) -> int:
    """Run one of PostgreSQL's own programs on the database; the address goes by the environment, unseen by `ps`."""
    parts = urlsplit(embedded.database_url())
    address = {
        "PGHOST": parts.hostname or "",
        "PGPORT": str(parts.port),
        "PGUSER": unquote(parts.username or ""),
        "PGPASSWORD": unquote(parts.password or ""),
        "PGDATABASE": parts.path.lstrip("/"),
    }
    return subprocess.call([str(client_program(name)), *arguments], env={**os.environ, **address})


if __name__ == "__main__":
    sys.exit(main())
