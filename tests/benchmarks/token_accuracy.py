"""How far the counters are off, per text, against exact counts of real tokenizers.

Run as `python -m tests.benchmarks.token_accuracy`. The exact counts are committed
(`token_counts` makes them anew); no tokenizer is needed. The texts of the set `unseen`
were written after the weights.
"""

from collections.abc import Iterable
from itertools import product
from statistics import fmean

from ctxlab.tokens import ApproximateCounter, CjkAwareCounter, ScriptCounter
from tests.benchmarks.token_counts import SETS, read_counts, read_texts

TOKENIZERS = ("o200k", "cl100k", "deepseek", "qwen", "qwen36")
COLUMNS = ("chars/4", "1.7/4.0", "generic", "family")


def error(estimate: float, exact: int) -> float:
    """Return the signed error as a share of the exact count."""
    return (estimate - exact) / exact


def errors_by_genre(tokenizer: str, which: str = "seen") -> dict[str, dict[str, float]]:
    """Return the signed error of each counter on each text for one tokenizer."""
    counters = dict(
        zip(
            COLUMNS,
            (
                ApproximateCounter(),
                CjkAwareCounter(),
                ScriptCounter("generic"),
                ScriptCounter(tokenizer),
            ),
            strict=True,
        )
    )
    exact = read_counts(which)
    return {
        genre: {
            column: error(counter.text(text), exact[genre][tokenizer])
            for column, counter in counters.items()
        }
        for genre, text in read_texts(which).items()
    }


def mean_error(tokenizer: str, column: str, which: str = "seen") -> float:
    """Return the mean absolute error per text of one column."""
    rows = errors_by_genre(tokenizer, which).values()
    return fmean(abs(row[column]) for row in rows)


def lines() -> Iterable[str]:
    """Yield the tables: means by tokenizer, then every text for one of them."""
    head = "".join(f"{column:>10}" for column in COLUMNS)
    for which in SETS:
        yield f"{f'mean |error|, {len(read_texts(which))} {which}':<28}{head}"
        for tokenizer in TOKENIZERS:
            means = (mean_error(tokenizer, column, which) for column in COLUMNS)
            yield f"{tokenizer:<28}" + "".join(f"{mean:>10.1%}" for mean in means)
        yield ""
    for which, tokenizer in product(SETS, TOKENIZERS):
        yield f"{f'{which}, {tokenizer}':<28}{head}"
        for genre, row in errors_by_genre(tokenizer, which).items():
            yield f"{genre:<28}" + "".join(f"{row[c]:>+10.1%}" for c in COLUMNS)
        yield ""


if __name__ == "__main__":
    print("\n".join(lines()))
