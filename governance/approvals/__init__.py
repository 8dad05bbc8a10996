"""Asks: who wants which quota, who decides by which policy, and what came of it.

`rules` is the machine of an ask, `policy` reads a policy's document, `calendar` counts working hours; `drafts`, `actions`,
`moving` and `deadlines` are the moves, each one transaction; `resolving` says who may decide when it is asked; `checks`,
`evidence` and `reads` show the grounds; `scoring` compares what a decision foresaw with what came.
"""
