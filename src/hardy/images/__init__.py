"""Images in: sources of pixels, labels and ids; preprocessing recipes; loading."""

from hardy.images.loading import Batch, load
from hardy.images.readers import open_images
from hardy.images.recipes import RECIPES, Recipe
from hardy.images.source import Fault, Source

__all__ = ["RECIPES", "Batch", "Fault", "Recipe", "Source", "load", "open_images"]
