"""Schedulers and their files, in plain Python without Django.

`records.py` holds the frozen data every source answers in; a folder per scheduler turns its text into them.
"""
