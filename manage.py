#!/usr/bin/env python3
"""The command line: `manage.py help` lists the commands."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command of the arguments; an embedded service that cannot be had is said in one sentence, status 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        print("Django is not installed for this Python. Run `make up`, or use .venv/bin/python.", file=sys.stderr)
        return 1
    from portal.embedded import EmbeddedError

    try:
        execute_from_command_line(sys.argv)
    except EmbeddedError as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
