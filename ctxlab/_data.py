"""Where the data that ctxlab ships is found.

In a checkout it is the folder `data/` beside the package; a wheel carries that folder
inside the package. Everything that reads shipped data asks here.

>>> data_path("transcripts").name
'transcripts'
"""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """Return the root of the checkout we run from, or None in an installed wheel."""
    root = PACKAGE.parent
    is_checkout = (root / "pyproject.toml").exists() and (root / "data").is_dir()
    return root if is_checkout else None


def data_path(*parts: str) -> Path:
    """Return the path of a shipped file or folder, whether or not it exists."""
    root = checkout() or PACKAGE
    return root.joinpath("data", *parts)
