"""Slurm's accounting records as plain data, from sacct text, sacct --json and slurmrestd answers.

`text` and `json_records` turn a source into records; `record` holds the judgements both share (did it start, how many
GPUs, what looks odd); `times`, `tres`, `states` and `hostlist` each read one kind of value; `columns` and `lines` find
the columns and the whole rows of a text. `governance.schedulers.files.read` is the door.
"""
