"""How large the site is, and what a site of that size is not offered: in navigation and on pages, never by address.

`rules.py` is the table of sizes, `reads.py` says which is in force and by whose word, `actions.py` chooses.
"""
