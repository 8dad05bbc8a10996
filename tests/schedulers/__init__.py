"""Slurm's records and the sources they come from: made-up traps, recorded shapes, real files read in place."""
