"""Who may use what, and what was used: rights and physics, no money.

Topics look down: usage -> tenants -> catalogue -> audit -> access -> schedulers | errors.
"""
