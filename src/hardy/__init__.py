"""How well does an image classifier hold up under common corruptions? `hardy.corrupt` and more.

Each public function lives in its room and is imported when it is first asked for. `corrupt`,
`design`, `report`, `suites` and `train` are rooms that can be called (see `hardy.rooms`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hardy.errors import HardyError, InputError, MissingResource

if TYPE_CHECKING:
    from hardy.attacks.attack import attack
    from hardy.catalogue import names
    from hardy.corrupt.calls import corrupt, corruptions, draw, perturbations, replay
    from hardy.demonstration import demo
    from hardy.design.designed_suite import design
    from hardy.design.drops import correlate
    from hardy.design.overlap import overlap
    from hardy.diagnosis import doctor
    from hardy.evaluation import Run, evaluate, runs
    from hardy.images.datasets import fetch
    from hardy.pictures import show
    from hardy.report.leaderboard import leaderboard
    from hardy.report.serve import view
    from hardy.report.write import plot
    from hardy.report.write import write_report as report
    from hardy.scores.comparison import compare
    from hardy.scores.scoring import score
    from hardy.scores.similarity import describe
    from hardy.suites import names as suites
    from hardy.train.training import train
    from hardy.variants.base_picture import perturb
    from hardy.variants.disk.build import build
    from hardy.variants.disk.verify import verify
    from hardy.variants.mirror import corrupt_files

__version__ = "0.1.0"

# The module that has the name, or the room that is the name.
_LATER = {
    "Run": "hardy.evaluation",
    "attack": "hardy.attacks.attack",
    "build": "hardy.variants.disk.build",
    "compare": "hardy.scores.comparison",
    "correlate": "hardy.design.drops",
    "corrupt": "hardy.corrupt",
    "corrupt_files": "hardy.variants.mirror",
    "corruptions": "hardy.corrupt.calls",
    "demo": "hardy.demonstration",
    "describe": "hardy.scores.similarity",
    "design": "hardy.design",
    "doctor": "hardy.diagnosis",
    "draw": "hardy.corrupt.calls",
    "evaluate": "hardy.evaluation",
    "fetch": "hardy.images.datasets",
    "leaderboard": "hardy.report.leaderboard",
    "names": "hardy.catalogue",
    "overlap": "hardy.design.overlap",
    "perturb": "hardy.variants.base_picture",
    "perturbations": "hardy.corrupt.calls",
    "plot": "hardy.report.write",
    "replay": "hardy.corrupt.calls",
    "report": "hardy.report",
    "runs": "hardy.evaluation",
    "score": "hardy.scores.scoring",
    "show": "hardy.pictures",
    "suites": "hardy.suites",
    "train": "hardy.train",
    "verify": "hardy.variants.disk.verify",
    "view": "hardy.report.serve",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_LATER[name])
    return module if module.__name__ == f"hardy.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "HardyError",
    "InputError",
    "MissingResource",
    "Run",
    "__version__",
    "attack",
    "build",
    "compare",
    "correlate",
    "corrupt",
    "corrupt_files",
    "corruptions",
    "demo",
    "describe",
    "design",
    "doctor",
    "draw",
    "evaluate",
    "fetch",
    "leaderboard",
    "names",
    "overlap",
    "perturb",
    "perturbations",
    "plot",
    "replay",
    "report",
    "runs",
    "score",
    "show",
    "suites",
    "train",
    "verify",
    "view",
]
