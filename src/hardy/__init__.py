"""How well does an image classifier hold up under common corruptions? `hardy.corrupt` and more.

`corrupt` and `suites` name both a function here and a folder of this package. Python binds a folder
on its parent when it is first imported, and never again; `api` imports both folders, so the
functions, bound after it, are what the names mean. In this package, write
`from hardy.corrupt import engine`: with `import hardy.corrupt.passes as engine` Python looks on the
function.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hardy.api import corrupt, corruptions, draw, perturb, perturbations, replay, suites
from hardy.errors import HardyError, InputError, MissingResource

if TYPE_CHECKING:
    from hardy import report
    from hardy.attacks.attack import attack
    from hardy.evaluation import compare, evaluate, runs

__version__ = "0.1.0"

# What brings Parquet and more is imported when it is asked for.
_LATER = dict.fromkeys(("compare", "evaluate", "runs"), "hardy.evaluation")
_LATER["attack"] = "hardy.attacks.attack"


def __getattr__(name: str) -> Any:
    if name == "report":
        return import_module("hardy.report")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "HardyError",
    "InputError",
    "MissingResource",
    "__version__",
    "attack",
    "compare",
    "corrupt",
    "corruptions",
    "draw",
    "evaluate",
    "perturb",
    "perturbations",
    "replay",
    "report",
    "runs",
    "suites",
]
