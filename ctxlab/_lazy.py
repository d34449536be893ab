"""Names of a package that load their module when they are first asked for.

So `import ctxlab` is quick, and what needs only one module works although a package
that another module needs is missing (PEP 562 is the mechanism).

>>> get, names = lazy_names("json", {"JSONDecodeError": "json.decoder"})
>>> get("JSONDecodeError").__name__, names()
('JSONDecodeError', ['JSONDecodeError'])
>>> get("loads")
Traceback (most recent call last):
AttributeError: module 'json' has no attribute 'loads'
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, module_of: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package.

    Args:
        package: Its `__name__`.
        module_of: The module that defines each name, as an absolute name.
    """

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(module_of[name]), name)

    return get, lambda: sorted(module_of)
