"""Count the 21 character classes of a text at memory speed, in plain Python.

UTF-8 tells the script of a character by its lead byte, so no character is decoded.
The text becomes one byte per character, each a set of class bits; a block of those
bytes becomes one big integer; then one `&` and one `bit_count` count a class in 16,384
characters at once, and `x & (x >> 8)` finds every pair of neighbours that share a
class, which gives the runs: runs = characters - such pairs.

>>> counts = count_classes("Hello 世界 42")
>>> counts["upper"], counts["lower"], counts["word"], counts["han"], counts["drun"]
(1, 4, 1, 2, 1)

Left out here: what a class costs (`profiles`). Lesson: 05_count_every_script.
"""

from ctxlab.tokens.profiles import CLASSES

_BLOCK = 16_384  # characters; the big integers of one block stay in the CPU's cache

# Bits of a character in the first pass. Only bits whose runs matter, or whose class
# is frequent, get one: eight bits are all there is.
_LETTER, _LOWER, _DIGIT, _PUNCT, _SPACE, _CYRILLIC, _CJK = (1 << i for i in range(7))

# Scripts by lead byte, one bit each, for the second pass (rarer characters only).
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
_NOT_LEAD = bytes(range(0xC0))


def _first_pass_bits(byte: int) -> int:
    if byte >= 0x80:
        if 0xD0 <= byte <= 0xD3:
            return _CYRILLIC
        return _CJK if 0xE3 <= byte <= 0xED else 0
    character = chr(byte)
    if character.isalpha():
        return _LETTER | (_LOWER if character.islower() else 0)
    if character.isdigit():
        return _DIGIT
    if character == "\n":
        return 0  # counted by bytes.count
    return _PUNCT if character.isprintable() and character != " " else _SPACE


_FIRST = bytes(map(_first_pass_bits, range(256)))
_SECOND = bytes(
    sum(1 << bit for bit, leads in enumerate(_SCRIPTS.values()) if byte in leads)
    for byte in range(256)
)
_ONES = int.from_bytes(b"\x01" * _BLOCK, "little")
_MASKS = [_ONES << bit for bit in range(8)]  # bit `bit` of every character


def _count_ascii(codes: bytes, totals: list[int]) -> None:
    """Add one block's counts: letter, lower, digit, punct, space, then pairs."""
    block = int.from_bytes(codes, "little")
    letters, lowers, digits, puncts, spaces = _MASKS[:5]
    pairs = block & (block >> 8)  # neighbours with a common bit
    totals[0] += (block & letters).bit_count()
    totals[1] += (block & lowers).bit_count()
    totals[2] += (block & digits).bit_count()
    totals[3] += (block & puncts).bit_count()
    totals[4] += (block & spaces).bit_count()
    totals[5] += (pairs & letters).bit_count()
    totals[6] += (pairs & digits).bit_count()
    totals[7] += (pairs & puncts).bit_count()
    # lower then any letter, less lower then lower = lower then upper
    totals[8] += ((block >> 1) & (block >> 8) & letters).bit_count()
    totals[8] -= (pairs & lowers).bit_count()


def _count_runs_beyond_ascii(codes: bytes) -> tuple[int, int]:
    """Return one block's pairs of Cyrillic and of CJK neighbours."""
    block = int.from_bytes(codes, "little")
    pairs = block & (block >> 8)
    return (pairs & _MASKS[5]).bit_count(), (pairs & _MASKS[6]).bit_count()


def _count_scripts(leads: bytes) -> list[int]:
    """Return how many characters each of `_SCRIPTS` has, by their lead bytes."""
    bits = leads.translate(_SECOND)
    counts = [0] * 8
    for start in range(0, len(bits), _BLOCK):
        block = int.from_bytes(bits[start : start + _BLOCK], "little")
        for bit, mask in enumerate(_MASKS):
            counts[bit] += (block & mask).bit_count()
    return counts


def class_counts(text: str) -> list[int]:
    """Return the counts of `CLASSES` in `text`, in that order (characters, runs)."""
    data = text.encode("utf-8", "surrogatepass")
    ascii_only = len(data) == len(text)
    codes = (
        data.translate(_FIRST) if ascii_only else data.translate(_FIRST, _CONTINUATION)
    )
    totals = [0] * 9
    cyrillic_pairs = cjk_pairs = 0
    for start in range(0, len(codes), _BLOCK):
        # One character more than a block: the masks end before it, so it is not
        # counted twice, but the pair across the edge is seen.
        block = codes[start : start + _BLOCK + 1]
        _count_ascii(block, totals)
        if not ascii_only:
            cyrillic, cjk = _count_runs_beyond_ascii(block)
            cyrillic_pairs += cyrillic
            cjk_pairs += cjk
    letter, lower, digit, punct, space, *pairs = totals
    counts = [lower, letter - lower, digit, punct, space, data.count(b"\n")]
    counts += [letter - pairs[0], pairs[3], punct - pairs[2], digit - pairs[1]]
    if ascii_only:
        return counts + [0] * 11
    leads = data.translate(None, _NOT_LEAD)
    latinx, cyr, *rest = _count_scripts(leads)
    other = len(leads) - latinx - cyr - sum(rest)
    cjk_characters = rest[1] + rest[2] + rest[3]
    counts += [latinx, cyr, other, *rest]
    return [*counts, cyr - cyrillic_pairs, cjk_characters - cjk_pairs]


def count_classes(text: str) -> dict[str, int]:
    """Return the counts of all 21 classes in `text` by name, zeros included."""
    return dict(zip(CLASSES, class_counts(text), strict=True))
