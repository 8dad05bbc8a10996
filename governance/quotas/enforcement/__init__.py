"""From quotas in force to the scheduler and back: what should be set, what was told, what stands there.

`rules` decides without a database; `actions.reconcile` reads, tells and reads back, once for each cluster, by durable work.
Desired, applied and observed are three facts with three times. What a person changed in the scheduler is drift: it is shown
with its author, and adopted or restored by a click, never overwritten in silence.
"""
