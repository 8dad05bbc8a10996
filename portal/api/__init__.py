"""The API as a whole: its addresses, its errors as problems, its schema and the page that shows it.

The doors themselves lie beside what they open: `<topic>/api.py`; what they have in common in `governance/doors`.
"""
