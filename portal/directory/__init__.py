"""Projects and people: homes, payers, mappings, members and the month's use; and, for who administers them, the directory.

They lie in the shell since a project's page shows what it used (governance) beside what that came to (billing).
"""
