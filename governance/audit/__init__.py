"""The audit trail: who, what, before, after, from where, in the same transaction as the change."""
