"""How well does an image classifier hold up under common corruptions? `hardy.corrupt` and more.

Each public function lives in its room and is imported when it is first asked for. `corrupt`,
`design`, `report`, `stylise`, `suites` and `train` are rooms that can be called (`hardy.rooms`).
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hardy.errors import HardyError, InputError, MissingResource

if TYPE_CHECKING:  # `as` tells type checkers that the name is public
    from hardy import torch as torch
    from hardy.attacks.attack import attack as attack
    from hardy.catalogue import names as names
    from hardy.comparing import compare as compare
    from hardy.corrupt.calls import corrupt as corrupt
    from hardy.corrupt.calls import corruptions as corruptions
    from hardy.corrupt.calls import draw as draw
    from hardy.corrupt.calls import perturbations as perturbations
    from hardy.corrupt.calls import replay as replay
    from hardy.demonstration import demo as demo
    from hardy.design.designed_suite import design as design
    from hardy.design.overlap import overlap as overlap
    from hardy.diagnosis import doctor as doctor
    from hardy.evaluation import evaluate as evaluate
    from hardy.fetching import fetch as fetch
    from hardy.images.packing import pack as pack
    from hardy.maite import MaiteCorruption as MaiteCorruption
    from hardy.pictures import show as show
    from hardy.report.leaderboard import leaderboard as leaderboard
    from hardy.report.serve import view as view
    from hardy.report.write import plot as plot
    from hardy.report.write import write_report
    from hardy.scores.drops import correlate as correlate
    from hardy.scores.performance import performance as performance
    from hardy.scores.scoring import Run as Run
    from hardy.scores.scoring import runs as runs
    from hardy.scores.scoring import score as score
    from hardy.scores.similarity import describe as describe
    from hardy.share.model_card import card as card
    from hardy.share.tracking import log as log
    from hardy.stylise.stylising import stylise as stylise
    from hardy.suites import suite_names
    from hardy.train.probing import probe as probe
    from hardy.train.training import train as train
    from hardy.variants.base_picture import perturb as perturb
    from hardy.variants.disk.build import build as build
    from hardy.variants.disk.verify import verify as verify
    from hardy.variants.mirror import corrupt_files as corrupt_files

    report, suites = write_report, suite_names

__version__ = "0.2.0.dev0"

# The module that has the name, or the room that is the name.
_LATER = {
    "MaiteCorruption": "hardy.maite",
    "Run": "hardy.scores.scoring",
    "attack": "hardy.attacks.attack",
    "build": "hardy.variants.disk.build",
    "compare": "hardy.comparing",
    "card": "hardy.share.model_card",
    "correlate": "hardy.scores.drops",
    "corrupt": "hardy.corrupt",
    "corrupt_files": "hardy.variants.mirror",
    "corruptions": "hardy.corrupt.calls",
    "demo": "hardy.demonstration",
    "describe": "hardy.scores.similarity",
    "design": "hardy.design",
    "doctor": "hardy.diagnosis",
    "draw": "hardy.corrupt.calls",
    "evaluate": "hardy.evaluation",
    "fetch": "hardy.fetching",
    "leaderboard": "hardy.report.leaderboard",
    "log": "hardy.share.tracking",
    "names": "hardy.catalogue",
    "overlap": "hardy.design.overlap",
    "pack": "hardy.images.packing",
    "performance": "hardy.scores.performance",
    "perturb": "hardy.variants.base_picture",
    "perturbations": "hardy.corrupt.calls",
    "plot": "hardy.report.write",
    "probe": "hardy.train.probing",
    "replay": "hardy.corrupt.calls",
    "report": "hardy.report",
    "runs": "hardy.scores.scoring",
    "score": "hardy.scores.scoring",
    "show": "hardy.pictures",
    "stylise": "hardy.stylise",
    "suites": "hardy.suites",
    "torch": "hardy.torch",
    "train": "hardy.train",
    "verify": "hardy.variants.disk.verify",
    "view": "hardy.report.serve",
}

# Without torch: `from hardy import *` shall hide no other package.
__all__ = ["HardyError", "InputError", "MissingResource", "__version__", *_LATER]
__all__.remove("torch")


if not TYPE_CHECKING:  # a type checker shall notice names that are misspelt

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(_LATER[name])
        return module if module.__name__ == f"hardy.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "torch"] if find_spec("torch") else __all__
