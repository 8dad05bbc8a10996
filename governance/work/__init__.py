"""Durable work: what is to be done stands in the database, the broker only wakes workers up.

One row of `work_item` for each (kind, key): asked for by `actions.ask`, done by `running.run` under a lease with a
heartbeat, found again by `sweeping.sweep` when a worker, the broker or a message is gone. A kind is the name of the
Celery task that does it. `leases.py` gives out named leases (exactly one beat), `presence.py` notes which processes
live, `correlation.py` carries the id that joins a request with the work it led to.
"""
