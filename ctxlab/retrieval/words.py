r"""Words to search by, sentences to keep, and how much of a question one covers.

Chinese and Japanese write no spaces, so each pair of neighbouring characters counts
as a word: no dictionary, and a word of two characters is always found.

>>> words("Refunds take 5 days.")
['refund', 'take', '5', 'day']
>>> words("退款到账")
['退款', '款到', '到账']
>>> sentences("退款三天到账。运费不退！Version 2.1 is out. See below.")
['退款三天到账。', '运费不退！', 'Version 2.1 is out. ', 'See below.']

Left out: stemming beyond a plural s, synonyms, translation: a question finds the words
it has. Lesson: 11_compress_documents.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

_CJK = (
    r"\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U000323af"
)
_RUN = re.compile(rf"([{_CJK}]+)|((?:(?![{_CJK}])\w)+)")
# Words of questions that say nothing of what is asked.
_COMMON = frozenset(
    """
    a about after all an and any are as at back be by can do does for from has have how
    i if in is it its long many may much my no not of on one or our out than that the
    there they this to until up was we what when where which who why will with you your
    多少 什么 怎么 多久 几天 是多 可以 哪些 哪天 要多 如何 吗 多 哪 几
    """.split()  # noqa: SIM905 - a list of words reads as words
)
_SENTENCE_END = re.compile(
    r"""
    [。！？；]+[”’」』）】]*             # Chinese and Japanese
    | (?<!\b[A-Z]) (?<!\bNo) (?<!\b[MD]r) (?<!\bMrs) (?<!\be\.g) (?<!\bi\.e)
      [.!?]+ ["'”’)\]]* (?=\s|$|[一-鿿])  # no end: version 2.1, Dr. Wu, e.g. this
      \s*
    | \n (?:[ \t]*\n)+                  # a paragraph
    | \n (?=[ \t]*(?:[-*•#>|]\ |\d+[.)、]))  # an item of a list
    """,
    re.VERBOSE,
)


def words(text: str) -> list[str]:
    """Return the words of a text in order, one form for each: case and plural dropped.

    Common words of questions are left out; full-width digits become plain ones.
    """
    found: list[str] = []
    for run in _RUN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        cjk, word = run.groups()
        if cjk:
            found += [cjk[at : at + 2] for at in range(max(1, len(cjk) - 1))]
        else:
            found.append(_singular(word))
    return [word for word in found if word not in _COMMON]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] != "s" else word


def sentences(text: str) -> list[str]:
    """Split a text into sentences; joined again they are the text, to the last space.

    A line break alone does not end a sentence: text may be wrapped. A blank line and
    an item of a list do.
    """
    ends = [0, *(end.end() for end in _SENTENCE_END.finditer(text)), len(text)]
    found = [""]
    for start, end in pairwise(ends):
        found[-1] += text[start:end]
        if any(map(str.isalpha, found[-1])):  # "1. " alone says nothing
            found.append("")
    last = found.pop()
    return [*found[:-1], found[-1] + last] if found else [last] * bool(last)


def relevance(question: str, texts: Sequence[str]) -> list[float]:
    """Return what share of the question's words each text has, 0.0 to 1.0.

    A word counts by its rarity among the texts, ln(1 + n / (1 + texts with it)), the
    idea of inverse document frequency (Spärck Jones 1972).

    >>> relevance("red towel", ["A towel.", "A red towel.", "A pillow."])
    [0.43..., 1.0, 0.0]
    """
    asked = dict.fromkeys(words(question))
    having = [asked.keys() & set(words(text)) for text in texts]
    texts_with = Counter(word for found in having for word in found)
    weight = {w: math.log(1 + len(texts) / (1 + texts_with[w])) for w in asked}
    whole = math.fsum(weight.values())
    return [
        math.fsum(map(weight.__getitem__, found)) / (whole or 1) for found in having
    ]
