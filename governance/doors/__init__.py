"""What every endpoint of the API does in the same way: who may pass, in which order it refuses, how lists are paged, what happens once.

A topic's `api.py` describes its doors with this; `portal/api` joins them, turns errors into problems and writes the schema.
"""
