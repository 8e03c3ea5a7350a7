"""Icons that nobody drew, in the layout of Icons-50."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from hardy.images.icons50.icon_tables import class_names


def write_icons(root: Path, styles: Sequence[str]) -> None:
    """50 classes of two subtypes in each style, one of which is held out."""
    generator = np.random.default_rng(0)
    for kind in class_names():
        (root / kind).mkdir(parents=True)
        for style in styles:
            for subtype in ("monkey" if kind == "monkey" else "duck", "plain_one"):
                pixels = generator.integers(0, 256, (32, 32, 3), np.uint8)
                Image.fromarray(pixels).save(root / kind / f"{style}_0_{subtype}.png")
