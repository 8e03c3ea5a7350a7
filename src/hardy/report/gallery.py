"""A browsable sheet of a suite on one photograph: every severity or frame of every name.

All pictures of a name are one strip, which the page slides along.
"""

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardy.corrupt import CORRUPTIONS, PERTURBATIONS
from hardy.corrupt.calls import corrupt
from hardy.errors import InputError
from hardy.images.display import data_uri, encode
from hardy.images.image_files import read_image
from hardy.images.recipes import eight_sevenths
from hardy.progress import Track, untracked
from hardy.registry import Registry
from hardy.suites.suite import Suite
from hardy.variants.base_picture import perturb

# Sides of the pictures: what the suite has, up to this much. Sequences have five times as many.
SIDE = {"corruptions": 160, "perturbations": 88}


class Strip(NamedTuple):
    name: str
    summary: str
    length: int
    uri: str


class Gallery(NamedTuple):
    suite: str
    suite_hash: str  # users' suites may share a name
    title: str
    unit: str  # what the slider moves along: "severity" or "frame"
    side: int
    clean: str
    strips: tuple[Strip, ...]


def make_gallery(
    suite: Suite, photo: Path, *, side: int | None = None, track: Track = untracked
) -> Gallery:
    """Make it at the suite's own size, or at `side`; the constants are the suite's either way."""
    if suite.shift is not None:
        raise InputError(
            f"expected a suite that makes something of a photograph, got {suite.name}, whose "
            "images are natural; name one such as imagenet_c"
        )
    side = side or min(suite.edition.side, SIDE[suite.kind])
    recipe = eight_sevenths(side)
    clean = read_image(photo, recipe.prepare)
    sequences = suite.kind == "perturbations"
    picture = read_image(photo) if sequences else clean
    id, edition = photo.stem, suite.edition.name
    strips = []
    registry: Registry[Any] = PERTURBATIONS if sequences else CORRUPTIONS
    names: list[str] = []
    absent: list[str] = []
    for name in suite.counted + suite.validation:
        (names if name in registry and not registry.fault(name) else absent).append(name)
    if absent:
        warnings.warn(f"not in the gallery of {suite.name}: {', '.join(absent)}", stacklevel=2)
    for name in track(names, len(names), "names"):
        if sequences:
            images = list(perturb(picture, name, id=id, recipe=recipe, edition=edition))
            summary = PERTURBATIONS[name].summary
        else:
            levels = suite.edition.severities(name)
            images = [corrupt(clean, name, one, ids=id, edition=edition) for one in levels]
            summary = CORRUPTIONS[name].summary
        strip = data_uri(encode(np.concatenate(images, axis=1)))
        strips.append(Strip(name, summary, len(images), strip))
    return Gallery(
        suite=suite.name,
        suite_hash=suite.content_hash(),
        title=suite.title,
        unit="frame" if sequences else "severity",
        side=side,
        clean=data_uri(encode(clean)),
        strips=tuple(strips),
    )


def sample_photo() -> Path | None:
    """A photograph that scikit-learn ships, found without importing it; None: it is not there."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "datasets" / "images" / "china.jpg"
