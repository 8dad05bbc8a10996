"""Idle quota and idle GPUs come back by a governed case: found by a rule, told, answered, applied, measured, undone if it was wrong."""
