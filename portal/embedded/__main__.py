"""`python -m portal.embedded status|stop|url`: look at the embedded database, stop one that a killed process left."""

import argparse
import sys

from portal import embedded


def main() -> int:
    """Do what the arguments ask; the status is 1 when the database does not run (status) or is in use (stop)."""
    parser = argparse.ArgumentParser(prog="python -m portal.embedded", description=__doc__)
    parser.add_argument("what", choices=["status", "stop", "url"])
    what = parser.parse_args().what
    try:
        if what == "url":
            print(embedded.database_url())
            return 0
        if what == "stop" and embedded.is_running():
            stopped = embedded.stop_unused_database()
            print("The database is stopped." if stopped else "The database is in use: its last user will stop it.")
            return 0 if stopped else 1
        running = embedded.is_running()
    except embedded.EmbeddedError as fault:
        print(fault, file=sys.stderr)
        return 1
    print(f"Home: {embedded.home()}\nDatabase: {'runs' if running else 'does not run'}")
    return 0 if running or what == "stop" else 1


if __name__ == "__main__":
    sys.exit(main())
