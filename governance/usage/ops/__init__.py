"""The operations pages: clusters and how far their stages are, background work, connections, nodes, quarantine.

`reads.py` gathers what a page shows in few questions, `actions.py` has the verbs that join topics (a cluster and its
days, a pull asked for), `forms.py` and `secrets.py` check what is typed, `words.py` says codes in words, `views.py` and
`api.py` are the doors. Who may see them holds operations.view; who may act, catalogue.change or records.import.
"""
