"""Generators of transcripts in ``data/transcripts``: ``python -m tests.build_transcripts``.

Each transcript is a script (``scripts/NAME.txt``: what people and assistant say, by
hand) played on a workbench that fills in the long tool results. Everything is seeded:
the same tree always gives the same bytes.
"""
