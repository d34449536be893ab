"""How far the counters are off, per text, against exact counts of real tokenizers.

Run as `python -m tests.benchmarks.token_accuracy`. The exact counts are committed
(`token_counts` makes them anew); no tokenizer is needed.
"""

from collections.abc import Iterable
from statistics import fmean

from ctxlab.tokens import ApproximateCounter, CjkAwareCounter, ScriptCounter
from tests.benchmarks.token_counts import read_counts, read_texts

TOKENIZERS = ("o200k", "cl100k", "deepseek", "qwen", "qwen36")
COLUMNS = ("chars/4", "1.7/4.0", "generic", "family")


def error(estimate: float, exact: int) -> float:
    """Return the signed error as a share of the exact count."""
    return (estimate - exact) / exact


def errors_by_genre(tokenizer: str) -> dict[str, dict[str, float]]:
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
    exact = read_counts()
    return {
        genre: {
            column: error(counter.text(text), exact[genre][tokenizer])
            for column, counter in counters.items()
        }
        for genre, text in read_texts().items()
    }


def mean_error(tokenizer: str, column: str) -> float:
    """Return the mean absolute error per text of one column."""
    return fmean(abs(row[column]) for row in errors_by_genre(tokenizer).values())


def lines() -> Iterable[str]:
    """Yield the tables: means by tokenizer, then every text for one of them."""
    head = "".join(f"{column:>10}" for column in COLUMNS)
    yield f"{'mean |error| per text':<28}{head}"
    for tokenizer in TOKENIZERS:
        means = "".join(f"{mean_error(tokenizer, column):>10.1%}" for column in COLUMNS)
        yield f"{tokenizer:<28}{means}"
    for tokenizer in TOKENIZERS:
        yield ""
        yield f"{'error, ' + tokenizer:<28}{head}"
        for genre, row in errors_by_genre(tokenizer).items():
            yield f"{genre:<28}" + "".join(f"{row[c]:>+10.1%}" for c in COLUMNS)


if __name__ == "__main__":
    print("\n".join(lines()))
