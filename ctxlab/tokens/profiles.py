"""What a character class costs: 31 classes × eight tokenizer families.

A tokenizer cuts text into words, digit runs, punctuation and ideographs, and pays
a near-constant price for each. The weights here are tokens per character of a class
(`lower` … `emoji`) and tokens per run or change (`word` … `cjk_run`), fitted by least
squares on 3.8 million characters of 65 genres. On 30 texts written afterwards a
family's weights are off by 4.3 to 5.3 % on average, the generic ones by 7.2 to 9.5 %
(cl100k, the oldest: 15.7 %). An estimate is the sum of count × weight;
`tests/benchmarks/token_accuracy` measures it.

Three classes say what their neighbours do not cost: `camel` (two lower-case letters
follow the upper-case one, as in camelCase), `indent` (spaces from the fourth on), and
`han_rare` and `han_trad`, which are no part of `han`: simplified characters are common
or rarer by the two levels of GB 2312, and what that standard lacks is traditional.

`long` is a guard and not fitted: lower-case letters are nearly free within a word, so
a sequence of thousands (DNA, glued words, padding) would be, too. Measured on such
texts a letter costs 0.13 (one letter repeated), 0.3 (glued words) to 0.5 tokens
(chance); from the 16th in a row on it counts as about a quarter.

>>> PROFILES["o200k"]["han"]
0.668

Left out here: current Claude and Gemini, whose tokenizers cannot be run offline; use
`generic` for them and let calibration do the rest. Lesson: 05_count_every_script.
"""

_TABLE = """
class       generic    o200k deepseek     qwen   qwen36   cl100k  smollm2  claude_old
lower         0.044    0.043    0.053    0.051    0.028    0.048    0.039       0.056
upper         0.102    0.078    0.170    0.080    0.041    0.064    0.202       0.129
digit         0.324    0.254    0.252    0.983    0.995    0.257    0.941       0.294
punct         0.205    0.250    0.212    0.228    0.238    0.263    0.107       0.107
space         0.278    0.274    0.204    0.309    0.378    0.313    0.019       0.019
newline       0.738    0.721    0.728    0.616    1.070    0.600    0.832       0.893
word          0.605    0.604    0.635    0.553    0.571    0.569    0.891       0.803
case_lu       2.453    2.441    2.255    2.591    2.737    2.755    2.440       2.380
camel        -2.239   -2.303   -2.041   -2.463   -2.459   -2.669   -1.876      -2.160
prun          0.637    0.533    0.659    0.536    0.604    0.489    1.015       0.912
drun          1.080    1.059    1.022    0.520    0.424    1.083    0.346       0.746
space_digit   0.222    0.223    0.248    0.249    0.181    0.245    0.598      -0.032
digit_punct  -0.114   -0.191   -0.236   -0.189   -0.209   -0.201   -0.239      -0.203
long          0.206    0.207    0.197    0.199    0.222    0.202    0.211       0.194
indent       -0.274   -0.270   -0.200   -0.305   -0.374   -0.309   -0.010      -0.011
latinx        0.979    0.503    1.240    1.332    0.613    1.555    2.370       1.951
cyr           0.046    0.034    0.040    0.100    0.010    0.149    0.608       0.281
other         0.381    0.361    0.468    0.558    0.337    0.952    1.013       1.419
quote         1.083    1.676    1.350    1.569    1.497    1.239    0.284       1.566
sym           0.384    0.395    0.348    0.350    0.358    0.353    0.490       0.362
kana          0.600    0.652    0.652    0.598    0.422    0.898    1.700       0.956
han           0.515    0.668    0.495    0.541    0.495    1.036    1.698       0.952
han_rare      2.500    2.500    2.500    2.500    2.500    2.500    2.500       2.500
han_trad      0.851    1.208    0.845    0.959    0.763    2.090    2.325       1.924
hangul        0.382    0.459    0.553    0.414    0.300    1.034    2.588       1.350
full          0.976    1.413    0.871    0.650    1.060    2.500    2.500       2.500
emoji         2.368    2.076    2.556    2.196    2.875    3.367    3.388       3.529
cyr_word      1.328    1.236    1.500    1.296    1.234    1.834    1.524       1.741
cjk_run       0.906    0.661    0.801    1.062    0.637    0.439    0.610       0.222
foreign       0.071    0.054    0.101    0.103    0.065    0.095    0.230       0.122
cjk_digit    -0.072   -0.203   -0.138   -0.169   -0.179   -0.207   -0.033      -0.175
"""

_HEAD, *_ROWS = (line.split() for line in _TABLE.strip().splitlines())

CLASSES: tuple[str, ...] = tuple(row[0] for row in _ROWS)
"""Names of the classes in the order of the table; `byte_classes` says what each is."""

PROFILES: dict[str, dict[str, float]] = {
    profile: {row[0]: float(row[column]) for row in _ROWS}
    for column, profile in enumerate(_HEAD[1:], start=1)
}
"""Tokens per character or run of each class, by profile."""
