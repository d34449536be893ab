"""Fit the weights of the character classes to a tokenizer, on texts of your own.

Run as `python -m tests.benchmarks.fit_weights FOLDER [TOKENIZER …]`. The folder holds
one folder of `.txt` files for each genre (or the files themselves, each its own genre);
every genre weighs the same. A column of weights is printed for each tokenizer, and
`generic` where there are several: give the current ones together. It needs numpy and
the extra `tokenizers`; for a tokenizer of your own add a line to `real_tokenizers`.

The weights of the profile are the start, and `--strength` says how near to them the fit
stays: 3 is what the committed weights were fitted with. Above the table stand the mean
errors per text: of the profile, and of the fit on genres left out in ten rounds.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ctxlab.tokens.byte_classes import count_classes
from ctxlab.tokens.profiles import CLASSES, PROFILES
from tests.benchmarks.token_counts import Count, real_tokenizers

Array = NDArray[np.float64]

LETTER_IN_A_LONG_ROW = 0.25  # tokens: what `lower` and `long` cost together
FLOOR = 0.02  # errors below count as squares, those above as they are
ROUNDS = 10
CAPS = {"han_rare": 2.5, "full": 2.5}
MAY_SAVE = {"camel", "indent", "digit_punct", "cjk_digit", "id_upper"}
_LOWER, _LONG = CLASSES.index("lower"), CLASSES.index("long")


def read_genres(folder: Path) -> list[tuple[str, str]]:
    """Return (genre, text) of every file in the folder, in alphabetical order."""
    found = []
    for path in sorted(folder.rglob("*.txt")):
        genre = path.stem if path.parent == folder else path.parent.name
        if text := path.read_text("utf-8").strip():
            found.append((genre, text))
    return found


def counts_of(texts: Iterable[str]) -> Array:
    """Return one row of class counts for each text."""
    return np.array([list(count_classes(text).values()) for text in texts], float)


def shares(genres: Sequence[str]) -> Array:
    """Return the weight of each text: genres weigh the same, the sum is 1."""
    sizes = {genre: genres.count(genre) for genre in set(genres)}
    return np.array([1 / sizes[genre] / len(sizes) for genre in genres])


def fit(
    counts: Array, exact: Sequence[Array], share: Array, start: Array, strength: float
) -> Array:
    """Return weights that keep the mean relative error of `exact` small.

    Least squares are repeated with each text weighed by one over its error, which makes
    the sum one of errors, not of squares. A weight out of its bounds is set to the
    bound and fitted no more.
    """
    rows = np.vstack([counts / tokens[:, None] for tokens in exact])
    rows[:, _LOWER] -= rows[:, _LONG]  # long = 0.25 - lower
    aim = 1 - LETTER_IN_A_LONG_ROW * rows[:, _LONG]
    rows[:, _LONG] = 0
    share = np.tile(share, len(exact)) / len(exact)
    scale = np.sqrt(share @ rows**2) + 1e-4
    weights, free = start.copy(), np.arange(len(CLASSES)) != _LONG
    start = start.copy()
    for _ in range(25):
        pull = share / np.maximum(abs(rows @ weights - aim), FLOOR)
        scaled = rows[:, free] / scale[free]
        hessian = (scaled.T * pull) @ scaled + strength * np.eye(free.sum())
        change = np.linalg.solve(hessian, (scaled.T * pull) @ (aim - rows @ start))
        weights = start.copy()
        weights[free] += change / scale[free]
        for place in np.flatnonzero(free):
            low = -np.inf if CLASSES[place] in MAY_SAVE else 0.0
            bound = min(max(weights[place], low), CAPS.get(CLASSES[place], np.inf))
            if bound != weights[place]:
                start[place] = weights[place] = bound
                free[place] = False
    weights[_LONG] = LETTER_IN_A_LONG_ROW - weights[_LOWER]
    return weights


def off(counts: Array, exact: Array, weights: Array) -> Array:
    """Return the relative error of each text, without its sign."""
    error: Array = abs(counts @ weights / exact - 1)
    return error


def left_out(
    genres: Sequence[str], counts: Array, exact: Array, start: Array, strength: float
) -> float:
    """Return the mean error on genres that the fit has not seen."""
    rounds = {genre: i % ROUNDS for i, genre in enumerate(sorted(set(genres)))}
    place, share = np.array([rounds[genre] for genre in genres]), shares(genres)
    total = 0.0
    for i in set(rounds.values()):
        seen, new = place != i, place == i
        if seen.any():
            weights = fit(counts[seen], [exact[seen]], share[seen], start, strength)
            total += share[new] @ off(counts[new], exact[new], weights)
    return total


def lines(
    folder: Path, tokenizers: dict[str, Count], strength: float = 3.0
) -> Iterable[str]:
    """Yield the errors, then the table of weights."""
    genres, texts = zip(*read_genres(folder), strict=True)
    counts, share = counts_of(texts), shares(genres)
    columns, exact = {}, {}
    yield f"{len(texts)} texts of {len(set(genres))} genres"
    for name, count in tokenizers.items():
        exact[name] = np.array([count(text) for text in texts], float)
        profile = PROFILES.get(name, PROFILES["generic"])
        start = np.array([profile[kind] for kind in CLASSES])
        columns[name] = fit(counts, [exact[name]], share, start, strength)
        before = share @ off(counts, exact[name], start)
        new = left_out(genres, counts, exact[name], start, strength)
        yield f"{name:<12} profile {before:.1%}, fit on genres left out {new:.1%}"
    if len(exact) > 1:
        start = np.array([PROFILES["generic"][kind] for kind in CLASSES])
        together = fit(counts, list(exact.values()), share, start, strength)
        columns = {"generic": together, **columns}
    yield f"{'class':<12}" + "".join(f"{name:>10}" for name in columns)
    for place, kind in enumerate(CLASSES):
        row = "".join(f"{weights[place]:>10.3f}" for weights in columns.values())
        yield f"{kind:<12}{row}"


def main() -> None:
    """Read the folder and print the table."""
    parser = argparse.ArgumentParser(prog="fit_weights")
    parser.add_argument("folder", type=Path)
    parser.add_argument("tokenizer", nargs="*", help="which of the installed ones")
    parser.add_argument("--strength", type=float, default=3.0)
    given = parser.parse_args()
    known = real_tokenizers()
    chosen = {name: known[name] for name in given.tokenizer or known}
    print("\n".join(lines(given.folder, chosen, given.strength)))


if __name__ == "__main__":
    main()
