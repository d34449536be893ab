"""What a character class costs: 22 classes × eight tokenizer families.

A tokenizer cuts text into words, digit runs, punctuation and ideographs, and pays
a near-constant price for each. The weights here are tokens per character of a class
(`lower` … `emoji`) and tokens per run or change (`word` … `cjk_run`), fitted by least
squares on 4.2 million characters of 27 genres split by document. An estimate is the
sum of count × weight; `tests/benchmarks/token_accuracy` measures how far it is off.

`long` is a guard and not fitted: lower-case letters are nearly free within a word, so
a sequence of thousands (DNA, glued words, padding) would be, too. Measured on such
texts a letter costs 0.13 (one letter repeated), 0.3 (glued words) to 0.5 tokens
(chance); from the 16th in a row on it counts as about a quarter.

>>> PROFILES["o200k"]["han"]
0.661

Left out here: current Claude and Gemini, whose tokenizers cannot be run offline; use
`generic` for them and let calibration do the rest. Lesson: 05_count_every_script.
"""

_TABLE = """
class      generic    o200k deepseek     qwen   qwen36   cl100k  smollm2  claude_old
lower        0.030    0.041    0.002    0.044    0.035    0.050    0.000       0.000
upper        0.243    0.242    0.256    0.259    0.236    0.263    0.288       0.201
digit        0.423    0.146    0.104    0.872    0.833    0.147    0.759       0.190
punct        0.161    0.158    0.078    0.162    0.157    0.159    0.147       0.091
space        0.059    0.048    0.045    0.075    0.080    0.067    0.000       0.002
newline      0.388    0.326    0.238    0.229    0.713    0.227    0.527       0.541
word         0.848    0.797    1.007    0.779    0.772    0.753    1.050       1.059
case_lu      1.469    1.440    1.420    1.492    1.574    1.577    1.753       1.699
prun         0.607    0.590    0.838    0.529    0.617    0.537    0.972       0.962
drun         1.137    1.288    1.308    0.770    0.771    1.340    0.769       0.923
long         0.220    0.220    0.220    0.220    0.220    0.220    0.220       0.220
latinx       0.576    0.174    0.658    1.220    0.331    1.365    2.869       1.768
cyr          0.130    0.112    0.133    0.159    0.114    0.252    0.641       0.377
other        1.264    0.666    1.326    0.941    1.393    0.707    5.939       2.546
sym          0.446    0.445    0.454    0.478    0.421    0.518    0.693       0.631
kana         0.586    0.710    0.621    0.592    0.433    1.010    1.724       0.973
han          0.526    0.661    0.467    0.538    0.444    0.952    1.578       0.799
hangul       0.360    0.471    0.457    0.373    0.171    0.922    2.397       1.032
full         0.793    0.717    0.964    0.423    1.022    0.361    1.525       0.402
emoji        2.283    2.169    2.173    1.856    2.857    2.954    3.155       2.983
cyr_word     1.117    1.105    1.196    1.271    0.992    1.485    1.489       1.188
cjk_run      1.084    0.746    1.070    1.323    1.171    0.821    1.144       0.935
"""

_HEAD, *_ROWS = (line.split() for line in _TABLE.strip().splitlines())

CLASSES: tuple[str, ...] = tuple(row[0] for row in _ROWS)
"""Names of the classes in the order of the table; `byte_classes` says what each is."""

PROFILES: dict[str, dict[str, float]] = {
    profile: {row[0]: float(row[column]) for row in _ROWS}
    for column, profile in enumerate(_HEAD[1:], start=1)
}
"""Tokens per character or run of each class, by profile."""
