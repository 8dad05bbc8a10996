"""`make up`: everything that an installation on one machine needs, under one process.

`run.py` is the whole story in order; `steps.py` prepares, `children.py` and `database.py` keep the processes alive, `log.py` writes the
one log, `instance.py` refuses a second start and a taken port, `tether.py` ties a child's life to ours.
"""
