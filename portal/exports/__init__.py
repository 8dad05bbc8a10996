"""Files of what pages show: small ones at once, large ones made in the background and fetched later.

`kinds.py` names what can be exported, `sources/` say of which rows and columns each kind is, `writing.py` writes them as
CSV or XLSX row by row, `actions.py` asks, makes, cancels and forgets, `reach.py` compares what its reader may see now
with what they saw when the file was made. Durable work of kind `exports.make` does the making.
"""
