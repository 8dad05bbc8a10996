"""The service catalogue: what may be asked for, with its rules in plain words and its price.

It lies in the shell since it spans topics: offerings and queue rules (quotas) and the prices of the day (billing).
"""
