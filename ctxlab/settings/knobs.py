"""The model of all settings: checked, frozen, in and out of YAML and Python."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from ctxlab.settings.sizes import (
    Size,
    Trigger,
    amount_in,
    check_size,
    size_of,
    sizes_of,
    smallest_tokens,
    trigger_of,
)
from ctxlab.tokens import PROFILES

DEFAULT_TRIGGER: Size = ("tokens", 49_152)
DEFAULT_KEEP_TOKENS = 24_000
DEFAULT_OVERHEAD_TOKENS = 4_000
YAML_NAMES = {"summary_chunk_tokens": "trim_tokens_to_summarize"}


class Settings(BaseModel):
    """Settings of `RequestOnlySummarizationMiddleware`.

    Args:
        enabled: False lets every request through untouched.
        trigger: When to compact: `("tokens" | "messages" | "fraction", n)`, a list
            of those (any of them), or a dict such as
            `{"tokens": 20_000, "messages": 40}` (all of them).
        keep: Size of the whole request after a compaction.
        summary_chunk_tokens: Largest piece of history in one summary call, in
            tokens; `trim_tokens_to_summarize` in YAML.
        overhead_tokens: What to assume for system prompt and tools before the
            first bill, in tokens.
        use_reported_usage: Learn from the provider's bills.
        counter: `"script"`, `"cjk"` or `"approximate"`.
        profile: Weights of the script counter. Where no usage is reported, name the
            model's family: the generic ones may be a fifth under what o200k bills
            for Chinese, which the quarter above the default trigger still covers.
        cjk_chars_per_token: Characters a token, for the CJK counter.
        latin_chars_per_token: Characters a token, for the CJK counter.
        max_input_tokens: The model's window for input, in tokens.
        model_name: Name of the summary model, for `init_chat_model`.
        summary_prompt: Own prompt for the summary model.

    Raises:
        ValueError: A key is unknown, a value is of the wrong type, or two values
            contradict each other; the message says what to change.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    trigger: Annotated[Trigger, BeforeValidator(trigger_of)] = DEFAULT_TRIGGER
    keep: Annotated[Size, BeforeValidator(size_of)] = ("tokens", DEFAULT_KEEP_TOKENS)
    summary_chunk_tokens: int = Field(12_000, gt=0)
    overhead_tokens: int = Field(DEFAULT_OVERHEAD_TOKENS, ge=0)
    use_reported_usage: bool = True
    counter: Literal["script", "cjk", "approximate"] = "script"
    profile: str = "generic"
    cjk_chars_per_token: float = Field(1.7, gt=0)
    latin_chars_per_token: float = Field(4.0, gt=0)
    max_input_tokens: int | None = Field(None, gt=0)
    model_name: str | None = None
    summary_prompt: str | None = None

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ValueError(_explained(error, values)) from None

    @model_validator(mode="before")
    @classmethod
    def _with_derived_defaults(cls, values: dict[str, Any]) -> dict[str, Any]:
        values = {name: value for name, value in values.items() if value is not None}
        amount = smallest_tokens(trigger_of(values.get("trigger", DEFAULT_TRIGGER)))
        if "keep" not in values and amount:
            half = max(1, int(amount) // 2)
            values["keep"] = ("tokens", min(DEFAULT_KEEP_TOKENS, half))
        keep = amount_in(size_of(values.get("keep")), "tokens") or (
            amount and amount / 2
        )
        if "overhead_tokens" not in values and keep:
            values["overhead_tokens"] = min(DEFAULT_OVERHEAD_TOKENS, int(keep / 6))
        return values

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not sizes_of(self.trigger):
            raise ValueError("trigger is empty; give a size such as ('tokens', 49152)")
        if self.profile not in PROFILES:
            known = ", ".join(PROFILES)
            raise ValueError(f"profile is {self.profile!r}; choose one of {known}")
        for size in [self.keep, *sizes_of(self.trigger)]:
            check_size(*size)
        for unit, amount in sizes_of(self.trigger):
            if unit == self.keep[0] and self.keep[1] >= amount:
                raise ValueError(
                    f"keep is {self.keep[1]} {unit} and trigger is {amount} {unit}: a "
                    "compaction would not shorten anything; lower keep or raise trigger"
                )
        keep = amount_in(self.keep, "tokens")
        if keep and self.overhead_tokens >= keep:
            raise ValueError(
                f"overhead_tokens is {self.overhead_tokens} and keep is {self.keep[1]} "
                "tokens: nothing would be left for the conversation; lower "
                "overhead_tokens or raise keep"
            )
        return self

    @classmethod
    def from_yaml(cls, source: str | Path) -> "Settings":
        """Read a YAML text or file, with or without its `summarization:` root.

        Reads DeerFlow's block as well. A block that gives the two ratios of
        characters to tokens chooses the CJK counter.

        >>> Settings.from_yaml("trigger: {type: tokens, value: 30000}").trigger
        ('tokens', 30000)
        """
        name, text = _read(source)
        try:
            block = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"{name} is not YAML: {error}") from None
        if isinstance(block, dict) and set(block) == {"summarization"}:
            block = block["summarization"]
        if not isinstance(block, dict):
            raise ValueError(
                f"{name} holds {type(block).__name__}, expected settings such as "
                "'trigger: {type: tokens, value: 49152}'"
            )
        for field_name, yaml_name in YAML_NAMES.items():
            if yaml_name in block:
                block[field_name] = block.pop(yaml_name)
        if "counter" not in block and {
            "cjk_chars_per_token",
            "latin_chars_per_token",
        } <= (set(block)):
            block["counter"] = "cjk"
        return cls(**{str(key): value for key, value in block.items()})

    def to_yaml(self) -> str:
        """Return the settings as YAML with its `summarization:` root."""
        block = self._plain()
        for field_name, yaml_name in YAML_NAMES.items():
            block[yaml_name] = block.pop(field_name)
        return yaml.safe_dump({"summarization": block}, sort_keys=False)

    def to_python(self) -> str:
        """Return the constructor call that builds the same settings.

        >>> eval(Settings(trigger=("messages", 40)).to_python()) == Settings(
        ...     trigger=("messages", 40)
        ... )
        True
        """
        defaults = type(self)()
        chosen = {n: v for n, v in self if v != getattr(defaults, n)}
        # Left out, these follow another trigger or keep: then they are spelled out.
        beside = {"trigger", "keep"} & set(chosen)
        follow = ("keep", "overhead_tokens") if beside else ()
        lines = [
            f"    {name}={value!r},\n"
            for name, value in self
            if name in chosen or name in follow
        ]
        return f"Settings(\n{''.join(lines)})" if lines else "Settings()"

    def _plain(self) -> dict[str, Any]:
        block = self.model_dump(exclude_none=True)
        block["keep"] = dict(zip(("type", "value"), self.keep, strict=True))
        if isinstance(self.trigger, tuple):
            block["trigger"] = dict(zip(("type", "value"), self.trigger, strict=True))
        elif isinstance(self.trigger, list):
            block["trigger"] = [
                dict(zip(("type", "value"), item, strict=True))
                if isinstance(item, tuple)
                else item
                for item in self.trigger
            ]
        return block


def _read(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and ("\n" in source or ":" in source):
        return "The text", source
    path = Path(source)
    if not path.is_file():
        raise ValueError(f"{path} is not a file; give YAML text or the path of one")
    return str(path), path.read_text(encoding="utf-8")


SIZE = 'give ("tokens", 24_000), ("messages", 20) or ("fraction", 0.5)'
SIZES = {
    "keep": SIZE,
    "trigger": f"{SIZE}, a list of those (any) or a dict (all)",
}


def _explained(error: ValidationError, values: Mapping[str, Any]) -> str:
    """Return one sentence for each thing that is wrong."""
    known = ", ".join(Settings.model_fields)
    sentences = []
    for problem in error.errors():
        place = ".".join(str(step) for step in problem["loc"][:1])
        if problem["type"] == "extra_forbidden":
            sentences.append(f"unknown setting {place!r}; known are {known}")
        elif not place:
            sentences.append(problem["msg"].removeprefix("Value error, "))
        elif place in SIZES:
            sentences.append(f"{place} is {values.get(place)!r}: {SIZES[place]}")
        else:
            came = problem["input"]
            sentences.append(f"{place} is {came!r}: {problem['msg'].lower()}")
    return "; ".join(dict.fromkeys(sentences))
