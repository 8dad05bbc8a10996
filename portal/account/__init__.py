"""A reader's own matters: signing in with patience for wrong passwords, preferences, password, sessions.

`throttle.py` counts wrong passwords, `sessions.py` knows when a session ends, `actions.py` changes password and
sessions, `views.py` holds the pages below /me/ and the sign-in page.
"""
