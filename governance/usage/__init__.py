"""What was used: runs as the scheduler recorded them, day facts, capacity facts, watermarks, quarantine.

Records come in by `actions.import_files`; `metering.py` turns runs into day facts; `reads.py` answers pages.
"""
