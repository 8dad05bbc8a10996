"""Finding things within permission.

`reads.py` what is found, `match.py` how words are compared, `views.py` the page that the palette asks too.
"""
