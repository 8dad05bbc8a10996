"""Slurm as plain data: from files, from its own commands (here or by ssh), and from slurmrestd.

Files: `text` and `json_records` turn a source into records by the judgements of `record`; `times`, `tres`, `states`,
`node_states` and `hostlist` each read one kind of value. `governance.schedulers.files.read` is the door.
Live: `commands` asks through a `runner`, `words` understands complaints, `queue`, `nodes` and `accounting` read answers,
`probe` tests the connection; `rest*` does the same over slurmrestd. `governance.schedulers.registry.connect` is the door.
"""
