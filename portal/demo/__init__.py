"""An invented company with invented records, so that a fresh installation has something true to show.

Plain Python, no Django: `plan.py` is the door (arguments in, organisation document and sacct files out); `estate.py`
is its machines, `projects.py` and `company.py` its people and prices, `quotas.py` what it is offered and holds,
`workload.py` what they submit, `queueing.py` how it runs, `sacct.py` how the scheduler writes it down. The same
arguments give the same bytes.
"""
