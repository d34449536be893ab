"""Answers to the exercises, as text: tests swap them into notebook cells.

`tests/solutions/4.1/reference.py` is right; every `wrong_*.py` beside it is a
mistake that people make. The first line of a wrong answer says what `check` must
tell its author: `# says: expected [8, 9], got [7, 8]`. Answers bring their imports.
"""

collect_ignore_glob = ["*"]
