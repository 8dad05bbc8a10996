"""What a project may hold of a pool and use in a period, from day to day; who may ask for what; how a pool may be promised."""
