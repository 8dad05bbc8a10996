"""Reference data: prices with their coverage by month, account mappings, the metric dictionary, and the organisation file.

They lie in the shell since they span governance and billing. Pages read; the organisation file is the one way to change.
"""
