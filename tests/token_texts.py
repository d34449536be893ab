"""Write data/token_texts.json: some texts of the tests with their exact counts.

Run as `python -m tests.token_texts`. Lesson 05 measures counters against them. Texts
and counts are those of the tests (`tests.benchmarks.token_counts` makes the counts),
so nothing is counted anew and no tokenizer is needed.
"""

import json
from typing import Any

from ctxlab._data import data_path
from tests.benchmarks.token_counts import read_counts, read_texts

#: What an agent's requests are made of, by the name a table shows.
GENRES = {
    "English prose": "english_prose",
    "Python code": "python_code",
    "Chinese chat": "chinese_chat",
    "Chinese and code": "chinese_technical",
    "Japanese prose": "japanese",
    "JSON result": "json_result",
    "log lines": "logs",
    "ids and hashes": "ids_encoded",
}
TOKENIZERS = ("o200k", "deepseek", "qwen")


def measured_texts() -> list[dict[str, Any]]:
    """Return name, text and exact tokens by tokenizer, one entry per genre."""
    texts, counts = read_texts(), read_counts()
    return [
        {
            "name": name,
            "exact": {tokenizer: counts[genre][tokenizer] for tokenizer in TOKENIZERS},
            "text": texts[genre],
        }
        for name, genre in GENRES.items()
    ]


def file_text() -> str:
    """Return what the file has to hold."""
    return json.dumps(measured_texts(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    data_path("token_texts.json").write_text(file_text(), "utf-8", newline="\n")
