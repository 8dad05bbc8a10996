"""The pages of the catalogue: what is owned, where it stands, in which state, and how much of it is allocated.

They lie in the shell since they span topics: terms and states (catalogue), use and capacity (usage), prices (billing).
`estate` is everything as it stands now, `capacity` the metered days, `heat` the map of racks, `nodes` one node.
"""
