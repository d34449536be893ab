"""What a character class costs: 30 classes × eight tokenizer families.

A tokenizer cuts text into words, digit runs, punctuation and ideographs, and pays
a near-constant price for each. The weights here are tokens per character of a class
(`lower` … `emoji`) and tokens per run or change (`word` … `cjk_run`). An estimate is
the sum of count × weight.

They are fitted by least squares on relative errors, on 7.4 million characters of 171
genres in 16 languages, and kept near the weights of an earlier fit on 65 genres.
Genres that the fit has not seen are off by 5.3 to 6.0 % on average with a family's
weights, and by 6.8 to 9.0 % with the generic ones. On 30 texts of the kinds that agents
meet it is 3.3 to 4.4 % and 6.3 to 9.1 % (cl100k, the oldest: 15.3 %).
`tests/benchmarks/token_accuracy` measures it, `fit_weights` beside it fits weights to
texts of your own.

Some classes say what their neighbours do not cost: `camel` (two lower-case letters
follow the upper-case one, as in camelCase), `indent` (spaces from the fourth on),
`digit_punct` (a digit right before punctuation), and `han_rare` and `han_trad`, which
are no part of `han`: simplified characters are common or rarer by the two levels of
GB 2312, and what that standard lacks is traditional.

Three speak of the text as a whole. `foreign` are its words, at most 20 for each
accented letter: words cost more where accents are. `cjk_digit` are its digits, at most
as many as it has CJK characters: dates and amounts in a sentence are shorter than
numbers in a table. `id_upper` are its upper-case letters, at most as many as its
digits: in ids and encoded data a capital starts no word.

`long` is a guard and not fitted: lower-case letters are nearly free within a word, so
a sequence of thousands (DNA, glued words, padding) would be, too. Measured on such
texts a letter costs 0.13 (one letter repeated), 0.3 (glued words) to 0.5 tokens
(chance); from the 16th in a row on it counts as about a quarter. The generic
price of a digit is a guard, too: a third at least, as where three share a token.

>>> PROFILES["o200k"]["han"]
0.668

Left out here: current Claude and Gemini, whose tokenizers cannot be run offline; use
`generic` for them and let calibration do the rest. Lesson: 05_count_every_script.
"""

_TABLE = """
class       generic    o200k deepseek     qwen   qwen36   cl100k  smollm2  claude_old
lower         0.044    0.042    0.052    0.050    0.028    0.047    0.039       0.056
upper         0.080    0.069    0.158    0.065    0.033    0.055    0.196       0.127
digit         0.335    0.258    0.255    0.984    0.997    0.262    0.941       0.293
punct         0.202    0.247    0.209    0.224    0.236    0.260    0.103       0.106
space         0.279    0.277    0.207    0.312    0.381    0.317    0.025       0.019
newline       0.738    0.730    0.730    0.625    1.072    0.607    0.849       0.894
word          0.604    0.601    0.632    0.551    0.569    0.567    0.889       0.803
case_lu       2.344    2.356    2.165    2.492    2.680    2.676    2.416       2.366
camel        -2.167   -2.271   -1.979   -2.403   -2.433   -2.633   -1.897      -2.147
prun          0.632    0.533    0.659    0.535    0.604    0.489    1.018       0.910
drun          1.068    1.057    1.022    0.530    0.432    1.088    0.375       0.740
digit_punct  -0.162   -0.202   -0.233   -0.192   -0.208   -0.207   -0.168      -0.202
id_upper      0.249    0.135    0.144    0.161    0.086    0.116    0.017       0.031
long          0.206    0.208    0.198    0.200    0.222    0.203    0.211       0.194
indent       -0.275   -0.273   -0.203   -0.308   -0.377   -0.313   -0.011      -0.012
latinx        0.972    0.492    1.224    1.316    0.612    1.524    2.374       1.930
cyr           0.046    0.035    0.041    0.102    0.010    0.150    0.607       0.283
other         0.381    0.359    0.467    0.560    0.336    0.948    1.003       1.386
sym           0.379    0.397    0.346    0.349    0.363    0.353    0.480       0.367
kana          0.599    0.650    0.651    0.596    0.421    0.896    1.700       0.955
han           0.516    0.668    0.498    0.544    0.498    1.038    1.696       0.956
han_rare      2.500    2.500    2.500    2.500    2.500    2.500    2.500       2.500
han_trad      0.855    1.222    0.846    0.962    0.768    2.093    2.325       1.939
hangul        0.385    0.459    0.553    0.417    0.303    1.036    2.593       1.350
full          1.006    1.453    0.922    0.687    1.096    2.500    2.500       2.500
emoji         2.372    2.096    2.563    2.203    2.897    3.381    3.382       3.561
cyr_word      1.329    1.238    1.500    1.297    1.237    1.840    1.528       1.743
cjk_run       0.910    0.666    0.806    1.068    0.645    0.449    0.601       0.229
foreign       0.074    0.063    0.110    0.110    0.072    0.102    0.223       0.129
cjk_digit    -0.099   -0.209   -0.155   -0.188   -0.193   -0.212   -0.032      -0.185
"""

_HEAD, *_ROWS = (line.split() for line in _TABLE.strip().splitlines())

CLASSES: tuple[str, ...] = tuple(row[0] for row in _ROWS)
"""Names of the classes in the order of the table; `byte_classes` says what each is."""

PROFILES: dict[str, dict[str, float]] = {
    profile: {row[0]: float(row[column]) for row in _ROWS}
    for column, profile in enumerate(_HEAD[1:], start=1)
}
"""Tokens per character or run of each class, by profile."""
