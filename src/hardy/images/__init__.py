"""Images in: sources of pixels, labels and ids; preprocessing recipes; loading."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `as` tells type checkers that the name is public
    from hardy.images.loading import Batch as Batch
    from hardy.images.loading import load_images as load_images
    from hardy.images.readers import READERS as READERS
    from hardy.images.readers import Reader as Reader
    from hardy.images.readers import Request as Request
    from hardy.images.readers import open_images as open_images
    from hardy.images.recipes import RECIPES as RECIPES
    from hardy.images.recipes import Recipe as Recipe
    from hardy.images.source import Fault as Fault
    from hardy.images.source import Source as Source

# Imported when they are asked for: `hardy --help` lists the readers, and reads no image.
_LATER = {
    **dict.fromkeys(("Batch", "load_images"), "hardy.images.loading"),
    **dict.fromkeys(("READERS", "Reader", "Request", "open_images"), "hardy.images.readers"),
    **dict.fromkeys(("RECIPES", "Recipe"), "hardy.images.recipes"),
    **dict.fromkeys(("Fault", "Source"), "hardy.images.source"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
