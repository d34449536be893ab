"""Middlewares side by side: the same conversations, the same provider, one table.

    python -m tests.benchmarks.peers --quick --json rows.json

The CPU time of ctxlab includes the ledger (a `CallRecord` a call) that a replay asks
it for.

`stage.py` holds what all have in common, `adapters.py` one small entry for each peer,
`stopwatch.py` times the hooks, `figures.py` turns a replay into a row. A new peer is an
entry in `PEERS`, a new column one in `COLUMNS`.
"""
