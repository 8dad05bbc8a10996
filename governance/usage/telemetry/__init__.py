"""Telemetry in the books: what runs' cards did and what nodes drew, pulled from Prometheus or read from files.

`actions.py` is the door; `pulling.py` reads days in pieces, `files.py` reads files, `attempts.py` finds the runs, `merge.py` writes,
`reads.py` answers what was found and what is odd about it. The rules are in `governance/schedulers/telemetry`.
"""
