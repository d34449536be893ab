"""Count the 30 character classes of a text at memory speed, in plain Python.

UTF-8 tells the script of a character by its lead byte, so no character is decoded.
The text becomes one byte per character, each a set of class bits; a block of those
bytes becomes one big integer; then one `&` and one `bit_count` count a class in all
its characters at once, and `x & (x >> 8)` finds every pair of neighbours that share a
class, which gives the runs: runs = characters - such pairs. `x & (x >> 9)` finds what
steps from a class to that of the next bit: a digit before a punctuation mark.

`bit_count` takes twelve times as long as `&`, and of eight bits it would look at seven
in vain. So a long text is cut into eight blocks, in each of which a class has another
bit; what they have of it is put together by `|` and counted once.

>>> counts = count_classes("Hello 世界 42")
>>> counts["upper"], counts["lower"], counts["word"], counts["han"], counts["drun"]
(1, 4, 1, 2, 1)

Left out here: what a class costs (`profiles`). Lesson: 05_count_every_script.
"""

from collections.abc import Callable, Iterable
from operator import or_

from ctxlab.tokens.profiles import CLASSES

_PER_ACCENT = 20  # words that one accented letter marks as `foreign`
_LONG = 16  # lower-case letters in a row, from which on each counts as `long`
_LONGEST = 16_384  # characters of a block: its big integers stay in the CPU's cache
_SHORTEST = 4_096  # of eight blocks: shorter ones take more time than they save

# Bits of a character in the first layout. Their order makes `x & (x >> 9)` useful: it
# has LOWER where an upper-case letter follows, and DIGIT where punctuation follows.
_LOWER, _UPPER, _DIGIT, _PUNCT, _LETTER, _SPACE, _CYRILLIC, _CJK = (
    1 << i for i in range(8)
)

# Scripts by lead byte, numbered from 1, for what is not ASCII.
_SCRIPTS = (
    range(0xC2, 0xCA),  # latinx
    range(0xD0, 0xD4),  # cyr
    range(0xE2, 0xE3),  # sym
    range(0xE3, 0xE4),  # kana and CJK punctuation
    range(0xE4, 0xEA),  # han
    range(0xEA, 0xEE),  # hangul
    range(0xEE, 0xF0),  # full
    range(0xF0, 0xF8),  # emoji
)
_CONTINUATION = bytes(range(0x80, 0xC0))
_ASCII = bytes(range(0x80))
_AT_DIGIT, _AT_WORD = CLASSES.index("digit"), CLASSES.index("word")


def _class_bits(byte: int) -> int:
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


def _moved(bits: int, layout: int) -> int:
    """Move bit `i` to `i ^ layout`, so that neighbours stay neighbours."""
    return sum(1 << (bit ^ layout) for bit in range(8) if bits >> bit & 1)


_LAYOUTS = [
    bytes(_moved(_class_bits(byte), layout) for byte in range(256))
    for layout in range(8)
]
_SCRIPT_NUMBERS = bytes(
    sum(number for number, leads in enumerate(_SCRIPTS, 1) if byte in leads)
    for byte in range(256)
)
_ONES = int.from_bytes(b"\x01" * (_LONGEST + _LONG), "little")
_MASKS = [[_ONES << (bit ^ layout) for bit in range(8)] for layout in range(8)]


def _find(
    leads: bytes, layout: int, beyond: bool, take: Callable[[int], int]
) -> tuple[int, ...]:
    """Find 12 things, or `beyond` ASCII 14, each as bits of an integer, and take it.

    With `int.bit_count` each is counted before the next is made: a short text takes a
    tenth less time than if all were kept.
    """
    lower, upper, digit, punct, letter, space, cyrillic, cjk = _MASKS[layout]
    block = int.from_bytes(leads.translate(_LAYOUTS[layout]), "little")
    pairs = block & (block >> 8)
    two_on = pairs >> 16
    fours = pairs & two_on
    eights = fours & (fours >> 32)
    steps = block & (block >> (7 if layout & 1 else 9))
    case_lu = steps & lower
    found = (
        take(block & upper),
        take(block & lower),
        take(block & digit),
        take(block & punct),
        take(pairs & letter),
        take(case_lu),
        take(pairs & punct),
        take(pairs & digit),
        take(eights & (eights >> 64) & lower),
        take(case_lu & two_on),  # two lower-case letters behind the upper one
        take(fours & space),
        take(steps & digit),
    )
    return (*found, take(pairs & cyrillic), take(pairs & cjk)) if beyond else found


def _count_eight(leads: bytes, size: int, beyond: bool) -> list[int]:
    """Count eight blocks of that many characters.

    Each is looked at with some characters of the next, so that pairs and long runs
    across the edge are seen; what begins in those is counted there.
    """
    packed: tuple[int, ...] = ()
    for layout, start in enumerate(range(0, min(len(leads), 8 * size), size)):
        block = leads[start : start + size + _LONG]
        found = _find(block, layout, beyond, take=int)
        packed = tuple(map(or_, packed, found)) if packed else found
    inside = (1 << 8 * size) - 1
    return [(bits & inside).bit_count() for bits in packed]


def _count_long(leads: bytes, beyond: bool) -> Iterable[int]:
    """Count what `_find` finds in a text of more than one block."""
    size = min(max(len(leads) // 8 + 1, _SHORTEST), _LONGEST)
    eights = (
        _count_eight(leads[start : start + 8 * size + _LONG], size, beyond)
        for start in range(0, len(leads), 8 * size)
    )
    return map(sum, zip(*eights, strict=True))


def class_counts(text: str) -> list[int]:
    """Return the counts of `CLASSES` in `text`, in that order (characters, runs).

    The classes beyond ASCII stand last, and are left out for a text that has none.
    """
    data = text.encode("utf-8", "surrogatepass")
    newlines, ascii = data.count(b"\n"), len(data) == len(text)
    leads = data if ascii else data.translate(None, _CONTINUATION)
    if len(leads) <= _LONGEST:
        found: Iterable[int] = _find(leads, 0, not ascii, int.bit_count)
    else:
        found = _count_long(leads, not ascii)
    if ascii:
        return _ascii_counts(len(text), newlines, *found)
    *block, cyr_pairs, cjk_pairs = found
    foreign = data.translate(None, _ASCII)
    scripts = foreign.translate(_SCRIPT_NUMBERS, _CONTINUATION)
    by_script = [scripts.count(number) for number in range(1, len(_SCRIPTS) + 1)]
    latinx, cyr, sym, kana, han, hangul, full, emoji = by_script
    common, rare = _standard_han(foreign) if han else (0, 0)
    counts = _ascii_counts(len(text) - len(scripts), newlines, *block)
    digits, words, cjk = counts[_AT_DIGIT], counts[_AT_WORD], kana + han + hangul
    counts += [latinx, cyr, len(scripts) - sum(by_script), sym, kana]
    counts += [common, rare, han - common - rare, hangul, full, emoji]
    counts += [cyr - cyr_pairs, cjk - cjk_pairs]
    return [*counts, min(words, _PER_ACCENT * latinx), min(digits, cjk)]


_BELOW_HAN, _BELOW_RARE = bytes(range(0xB0)), bytes(range(0xD8))  # rows of GB 2312


def _standard_han(foreign: bytes) -> tuple[int, int]:
    """Count the common and the rarer characters of GB 2312, by its two levels.

    The standard sorts simplified characters by use: 3,755 common ones in its rows 0xB0
    to 0xD7, 3,008 others behind them. What it lacks is traditional, or Japanese.
    """
    text = foreign.decode("utf-8", "surrogatepass")
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
