"""Count the 30 character classes of a text at memory speed, in plain Python.

UTF-8 tells the script of a character by its lead byte, so no character is decoded.
The text becomes one byte per character, each a set of class bits; a block of those
bytes becomes one big integer; then one `&` and one `bit_count` count a class in 16,384
characters at once, and `x & (x >> 8)` finds every pair of neighbours that share a
class, which gives the runs: runs = characters - such pairs. `x & (x >> 9)` finds what
steps from a class to that of the next bit: a digit before a punctuation mark.

>>> counts = count_classes("Hello 世界 42")
>>> counts["upper"], counts["lower"], counts["word"], counts["han"], counts["drun"]
(1, 4, 1, 2, 1)

Left out here: what a class costs (`profiles`). Lesson: 05_count_every_script.
"""

from collections.abc import Callable, Iterable

from ctxlab.tokens.profiles import CLASSES

_PER_ACCENT = 20  # words that one accented letter marks as `foreign`
_LONG = 16  # lower-case letters in a row, from which on each counts as `long`
_BLOCK = 16_384  # characters; the big integers of one block stay in the CPU's cache

# Bits of a character in the first pass. Their order makes `x & (x >> 9)` useful: it has
# LOWER where an upper-case letter follows, and DIGIT where punctuation follows.
_LOWER, _UPPER, _DIGIT, _PUNCT, _LETTER, _SPACE, _CYRILLIC, _CJK = (
    1 << i for i in range(8)
)

# Scripts by lead byte, one bit each, for the second pass (what is not ASCII).
_SCRIPTS = {
    "latinx": range(0xC2, 0xCA),
    "cyr": range(0xD0, 0xD4),
    "sym": range(0xE2, 0xE3),
    "kana": range(0xE3, 0xE4),  # and CJK punctuation
    "han": range(0xE4, 0xEA),
    "hangul": range(0xEA, 0xEE),
    "full": range(0xEE, 0xF0),
    "emoji": range(0xF0, 0xF8),
}
_CONTINUATION = bytes(range(0x80, 0xC0))
_ASCII = bytes(range(0x80))
_AT_DIGIT, _AT_WORD = CLASSES.index("digit"), CLASSES.index("word")


def _first_pass_bits(byte: int) -> int:
    if 0xD0 <= byte <= 0xD3:
        return _CYRILLIC
    if byte >= 0x80:
        return _CJK if 0xE3 <= byte <= 0xED else 0
    character = chr(byte)
    if character.isalpha():
        return _LETTER | (_LOWER if character.islower() else _UPPER)
    if character.isdigit():
        return _DIGIT
    if character.isprintable() and character != " ":
        return _PUNCT
    # Control characters cost at least what a space does, and never save as indent.
    return _SPACE if character.isspace() and character != "\n" else 0


_FIRST = bytes(map(_first_pass_bits, range(256)))
_SECOND = bytes(
    sum(1 << bit for bit, leads in enumerate(_SCRIPTS.values()) if byte in leads)
    for byte in range(256)
)
_ONES = int.from_bytes(b"\x01" * _BLOCK, "little")
_MASKS = [_ONES << bit for bit in range(8)]  # bit `bit` of every character
_LOWERS, _UPPERS, _DIGITS, _PUNCTS, _LETTERS, _SPACES, _CYRILLICS, _CJKS = _MASKS


def _count_block(codes: bytes) -> tuple[int, ...]:
    """Count one block: characters, pairs of neighbours, and what stands out."""
    block = int.from_bytes(codes, "little")
    return _count_planes(block, block & (block >> 8))


def _count_planes(block: int, pairs: int) -> tuple[int, ...]:
    two_on = pairs >> 16
    fours = pairs & two_on
    steps = block & (block >> 9)
    case_lu = steps & _LOWERS
    eights = fours & (fours >> 32)
    return (
        (block & _UPPERS).bit_count(),
        (block & _LOWERS).bit_count(),
        (block & _DIGITS).bit_count(),
        (block & _PUNCTS).bit_count(),
        (pairs & _LETTERS).bit_count(),
        case_lu.bit_count(),
        (pairs & _PUNCTS).bit_count(),
        (pairs & _DIGITS).bit_count(),
        (eights & (eights >> 64) & _LOWERS).bit_count(),
        (case_lu & two_on).bit_count(),  # two lower-case letters behind the upper one
        (fours & _SPACES).bit_count(),
        (steps & _DIGITS).bit_count(),
    )


def _count_beyond_ascii(codes: bytes) -> tuple[int, ...]:
    """Count one block as `_count_block`, then pairs of Cyrillic and CJK neighbours."""
    block = int.from_bytes(codes, "little")
    pairs = block & (block >> 8)
    runs = (pairs & _CYRILLICS).bit_count(), (pairs & _CJKS).bit_count()
    return _count_planes(block, pairs) + runs


def _count_scripts(bits: bytes) -> tuple[int, ...]:
    """Count one block of characters beyond ASCII: each of `_SCRIPTS`."""
    block = int.from_bytes(bits, "little")
    return tuple([(block & mask).bit_count() for mask in _MASKS])


def _over_blocks(
    count: Callable[[bytes], tuple[int, ...]], codes: bytes
) -> Iterable[int]:
    """Add up `count` over the blocks of `codes`.

    Each block has some characters more than are counted: the masks end before them, but
    pairs and long runs across the edge are seen.
    """
    if len(codes) <= _BLOCK:
        return count(codes)
    starts = range(0, len(codes), _BLOCK)
    return map(
        sum, zip(*(count(codes[i : i + _BLOCK + _LONG]) for i in starts), strict=True)
    )


def class_counts(text: str) -> list[int]:
    """Return the counts of `CLASSES` in `text`, in that order (characters, runs).

    The classes beyond ASCII stand last, and are left out for a text that has none.
    """
    data = text.encode("utf-8", "surrogatepass")
    newlines = data.count(b"\n")
    if len(data) == len(text):
        block = _over_blocks(_count_block, data.translate(_FIRST))
        return _ascii_counts(len(text), newlines, *block)
    codes = data.translate(_FIRST, _CONTINUATION)  # one byte for each character
    *block, cyr_pairs, cjk_pairs = _over_blocks(_count_beyond_ascii, codes)
    beyond = data.translate(_SECOND, _ASCII + _CONTINUATION)
    latinx, cyr, sym, kana, han, hangul, *rest = _over_blocks(_count_scripts, beyond)
    other = len(beyond) - latinx - cyr - sym - kana - han - hangul - sum(rest)
    common, rare = _standard_han(data) if han else (0, 0)
    counts = _ascii_counts(len(codes) - len(beyond), newlines, *block)
    digits, words, cjk = counts[_AT_DIGIT], counts[_AT_WORD], kana + han + hangul
    counts += [latinx, cyr, other, sym, kana]
    counts += [common, rare, han - common - rare, hangul, *rest]
    counts += [cyr - cyr_pairs, cjk - cjk_pairs]
    return [*counts, min(words, _PER_ACCENT * latinx), min(digits, cjk)]


_BELOW_HAN, _BELOW_RARE = bytes(range(0xB0)), bytes(range(0xD8))  # rows of GB 2312


def _standard_han(data: bytes) -> tuple[int, int]:
    """Count the common and the rarer characters of GB 2312, by its two levels.

    The standard sorts simplified characters by use: 3,755 common ones in its rows 0xB0
    to 0xD7, 3,008 others behind them. What it lacks is traditional, or Japanese.
    """
    text = data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
    rows = text.encode("gb2312", "ignore")[::2]  # the first of two bytes is the row
    rare = len(rows.translate(None, _BELOW_RARE))
    return len(rows.translate(None, _BELOW_HAN)) - rare, rare


def _ascii_counts(
    characters: int,
    newlines: int,
    upper: int,
    lower: int,
    digit: int,
    punct: int,
    letter_pairs: int,
    case_lu: int,
    punct_pairs: int,
    digit_pairs: int,
    long: int,
    camel: int,
    indent: int,
    digit_punct: int,
) -> list[int]:
    """Put the counts of the ASCII classes in the order of `CLASSES`."""
    letters = upper + lower
    spaces = characters - letters - digit - punct - newlines
    words, prun, drun = letters - letter_pairs, punct - punct_pairs, digit - digit_pairs
    id_upper = upper if upper < digit else digit  # `min` takes twice as long
    return [
        *(lower, upper, digit, punct, spaces, newlines, words, case_lu, camel),
        *(prun, drun, digit_punct, id_upper, long, indent),
    ]


def count_classes(text: str) -> dict[str, int]:
    """Return the counts of all 30 classes in `text` by name, zeros included."""
    counts = class_counts(text)
    missing = [0] * (len(CLASSES) - len(counts))
    return dict(zip(CLASSES, counts + missing, strict=True))
