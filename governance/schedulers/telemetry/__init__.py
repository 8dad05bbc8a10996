"""Telemetry of accelerators, in plain Python without Django: what cards did, as exporters and Prometheus tell it.

`labels.py` says whose a series is, `activity.py` judges idle card by card, `parse.py` reads answers and files,
`client.py` talks to Prometheus, `queries.py` words the questions, `collect.py` reads one day of some nodes.
"""
