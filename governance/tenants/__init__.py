"""Whose it is: departments, projects, who pays, which scheduler accounts are theirs, and who may see and do what."""
