"""How well does an image classifier hold up under common corruptions? `hardy.corrupt` and more.

`corrupt` and `suites` name both a function here and a folder of this package. Python binds a folder
on its parent when it is first imported, and never again; `api` imports both folders, so the
functions, bound after it, are what the names mean. In this package, write
`from hardy.corrupt import engine`: with `import hardy.corrupt.engine as engine` Python looks on the
function.
"""

from hardy.api import corrupt, corruptions, draw, perturb, perturbations, replay, suites
from hardy.errors import HardyError, InputError, MissingResource

__version__ = "0.1.0"

__all__ = [
    "HardyError",
    "InputError",
    "MissingResource",
    "__version__",
    "corrupt",
    "corruptions",
    "draw",
    "perturb",
    "perturbations",
    "replay",
    "suites",
]
