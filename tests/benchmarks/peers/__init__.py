"""Middlewares side by side: the same conversations, the same provider, one table.

    python -m tests.benchmarks.peers --json rows.json --chart rows.html
    python -m tests.benchmarks.peers --quick

The CPU time of ctxlab includes freeing the messages of the turn before, which it holds
to compare; nobody asks it for call records, as in production without `on_call`.

`stage.py` holds what all have in common, `scenes.py` the conversations, `faults.py` a
provider that fails, `adapters.py` one small entry for each peer (with `others.py`,
`langmem_node.py`, `ladder_steps.py`), `stopwatch.py` times the hooks, `figures.py`
turns a replay into a row, `chart.py` draws the rows. A new peer is an entry in `PEERS`,
a new column one in `COLUMNS`, a new conversation one in `ROUND`.

The committed run is `data/benchmarks/peers.json`; `tests/refresh_peers.py` writes the
README's table from it.
"""
