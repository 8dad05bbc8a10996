"""The metric dictionary: the versioned definition behind every figure that the portal shows.

`dictionary.yaml` holds the entries, `entries` reads them, `actions.sync_dictionary` brings new versions into the
database (after every `migrate`), `reads.definition` answers one, `figures` says which figure stands on which entry.
"""
