"""Hardy in other people's training loops: callbacks of Lightning and of transformers' Trainer, and
a transform of albumentations. Each name imports its library when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `as` tells type checkers that the name is public
    from hardy.hooks.albumentations_transform import AlbumentationsCorrupt as AlbumentationsCorrupt
    from hardy.hooks.lightning_callback import LightningRobustError as LightningRobustError
    from hardy.hooks.trainer_callback import TrainerRobustError as TrainerRobustError

_MODULE_OF = {
    "AlbumentationsCorrupt": "albumentations_transform",
    "LightningRobustError": "lightning_callback",
    "TrainerRobustError": "trainer_callback",
}
__all__ = ["AlbumentationsCorrupt", "LightningRobustError", "TrainerRobustError"]


if not TYPE_CHECKING:  # a type checker shall notice names that are misspelt

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
