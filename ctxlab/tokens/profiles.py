"""What a character class costs: 26 classes × eight tokenizer families.

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
0.647

Left out here: current Claude and Gemini, whose tokenizers cannot be run offline; use
`generic` for them and let calibration do the rest. Lesson: 05_count_every_script.
"""

_TABLE = """
class      generic    o200k deepseek     qwen   qwen36   cl100k  smollm2  claude_old
lower        0.042    0.041    0.051    0.049    0.028    0.046    0.041       0.056
upper        0.052    0.023    0.116    0.035    0.003    0.014    0.138       0.060
digit        0.340    0.256    0.253    0.982    0.983    0.262    0.949       0.294
punct        0.215    0.255    0.222    0.231    0.244    0.269    0.087       0.093
space        0.282    0.283    0.213    0.318    0.384    0.322    0.031       0.028
newline      0.740    0.737    0.746    0.635    1.043    0.597    0.874       0.902
word         0.596    0.597    0.628    0.548    0.572    0.561    0.901       0.793
case_lu      2.546    2.575    2.394    2.698    2.839    2.881    2.573       2.523
camel       -2.146   -2.175   -1.994   -2.298   -2.439   -2.481   -2.173      -2.123
prun         0.637    0.527    0.657    0.521    0.596    0.479    1.009       0.897
drun         1.134    1.056    1.011    0.550    0.418    1.085    0.395       0.773
long         0.208    0.209    0.199    0.201    0.222    0.204    0.209       0.194
indent      -0.272   -0.273   -0.201   -0.308   -0.374   -0.312   -0.021      -0.009
latinx       0.897    0.411    1.205    1.331    0.501    1.453    2.000       1.923
cyr          0.050    0.038    0.048    0.106    0.012    0.147    0.602       0.279
other        0.354    0.316    0.416    0.435    0.305    0.821    1.124       1.205
sym          0.390    0.405    0.385    0.353    0.386    0.381    0.531       0.408
kana         0.580    0.644    0.616    0.573    0.398    0.892    1.679       0.927
han          0.507    0.647    0.487    0.527    0.477    1.024    1.689       0.938
han_rare     2.500    2.500    2.500    2.500    2.500    2.500    2.500       2.500
han_trad     0.867    1.200    0.844    0.961    0.761    2.014    2.266       1.883
hangul       0.371    0.428    0.514    0.389    0.287    0.985    2.557       1.312
full         0.953    1.512    0.875    0.637    1.100    2.500    2.399       2.500
emoji        2.566    2.351    2.805    2.455    2.730    3.211    3.502       3.541
cyr_word     1.351    1.280    1.545    1.339    1.274    1.855    1.640       1.787
cjk_run      0.874    0.639    0.770    1.043    0.610    0.433    0.676       0.225
"""

_HEAD, *_ROWS = (line.split() for line in _TABLE.strip().splitlines())

CLASSES: tuple[str, ...] = tuple(row[0] for row in _ROWS)
"""Names of the classes in the order of the table; `byte_classes` says what each is."""

PROFILES: dict[str, dict[str, float]] = {
    profile: {row[0]: float(row[column]) for row in _ROWS}
    for column, profile in enumerate(_HEAD[1:], start=1)
}
"""Tokens per character or run of each class, by profile."""
