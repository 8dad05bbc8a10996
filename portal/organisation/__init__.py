"""Organisation files: departments, projects, people, the catalogue, mappings and prices declared in one reviewed file.

`document` reads YAML and keeps the line of every key, `schema` words what has the wrong form, `wanted` turns the
document into rows by code, `state` reads the same rows from the tables, `checks` refuses what cannot hold, `plan` is
the difference with what stands on it, `actions.load` does it in one transaction, `dump` writes the file back.
"""
