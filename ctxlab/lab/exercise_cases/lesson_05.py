"""Exercises of lesson 05: count two scripts, and measure an estimator."""

import json
from collections.abc import Callable
from statistics import fmean

from ctxlab._data import data_path
from ctxlab.lab.exercises import Case, Exercise, Prediction
from ctxlab.tokens import CjkAwareCounter


def _exact_chat_tokens() -> int:
    """What o200k makes of the lesson's Chinese chat."""
    listed = json.loads(data_path("token_texts.json").read_text("utf-8"))
    chat = next(each for each in listed if each["name"] == "Chinese chat")
    tokens: int = chat["exact"]["o200k"]
    return tokens


def is_cjk(character: str) -> bool:
    """Tell a character of Han, kana, hangul or full-width forms from all others."""
    blocks = ("\u3000", "\u9fff"), ("\uac00", "\ud7a3"), ("\uff00", "\uffef")
    return any(low <= character <= high for low, high in blocks)


def _two_constants(text: str, _: Callable[[str], bool]) -> float:
    return CjkAwareCounter().text(text)


def _mean_error(estimates: list[int], exact: list[int]) -> float:
    """Mean error in percent of the exact counts, its sign left out."""
    return fmean(100 * abs(e / x - 1) for e, x in zip(estimates, exact, strict=True))


EXERCISES = (
    Prediction(
        "5.p",
        "1,053 characters of Chinese chat: how many tokens for o200k?",
        hint="A Chinese character is rarely less than half a token, or more than one.",
        answer=_exact_chat_tokens,
        within=0.15,
    ),
    Exercise(
        "5.1",
        "CJK characters at 1.7 a token, all others at 4.0",
        hint="Count both kinds, divide each, round each up (math.ceil), then add.",
        cases=[
            Case(("", is_cjk), _two_constants),
            Case(("order", is_cjk), _two_constants),
            Case(("订单到哪了", is_cjk), _two_constants),
            Case(("订单 A-17 到哪了?", is_cjk), _two_constants),
            Case(("注文はどこですか。주문은요?", is_cjk), _two_constants),
            Case(("中" * 500, is_cjk), _two_constants),
        ],
    ),
    Exercise(
        "5.2",
        "mean error in percent of the exact counts, sign left out",
        hint="100 * abs(e / x - 1) for each text; then the mean of these.",
        cases=[
            Case(([120], [100]), _mean_error),
            Case(([120, 80], [100, 100]), _mean_error),
            Case(([50, 1_000], [100, 1_000]), _mean_error),
            Case(([30, 700, 90], [60, 560, 90]), _mean_error),
        ],
    ),
)
