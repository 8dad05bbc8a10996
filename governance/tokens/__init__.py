"""Personal tokens: what a person gives a program so that it may ask the API in their name, within scopes and until a day.

The secret is shown once; here stands its digest alone.
"""
