"""`python -m tests.bench`: the speed and memory of the chain from records to ledger, as ratios measured in one run.

`records.py` and `company.py` make the input, `scratch.py` a database of the bench's own, `measures.py` measures, `peak.py` is the child
process whose memory is looked at, `report.py` prints.
"""
