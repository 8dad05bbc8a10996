"""Who is told what, and by which way: an outbox in the transaction of the change, read in the portal, mailed, and sent to
channels (signed webhooks, group robots).

Topics register their events and kinds of object in a module `notices.py` of their own, which is loaded when Django starts;
their actions call `outbox.publish`. What may be shown is asked of the kind of object when a notice is read, not when it was made.
"""
