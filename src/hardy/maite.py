"""Corruptions as augmentations of the MAITE protocols. The library itself is not needed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hardy.corrupt.calls import check_cell, corrupt
from hardy.engine.keys import check_seed
from hardy.engine.maite_door import maite_image, maite_pixels
from hardy.errors import InputError

if TYPE_CHECKING:
    from maite.protocols import ArrayLike, AugmentationMetadata, DatumMetadata


class MaiteCorruption:
    """A corruption at a severity as an augmentation of the MAITE protocols.

    It takes and returns a batch (images, targets, metadata). Images are uint8 (3, H, W), or floats
    from 0 to 1, of which x becomes the byte round(255 x), and a corrupted byte b becomes b / 255;
    they may differ in size. What is drawn hangs on the `seed` and on the "id" in an image's
    metadata, so that neither batches nor their order change anything, and `hardy.corrupt` with
    that seed and id gives the same bytes.

    ```python
    import hardy
    import numpy as np

    fog = hardy.MaiteCorruption("fog", 3)
    images, targets, facts = fog(([np.zeros((3, 32, 32), np.uint8)], [np.eye(10)[4]], [{"id": 7}]))
    print(fog.metadata["id"], images[0].shape)
    ```
    """

    def __init__(self, name: str, severity: int, *, seed: int = 0, edition: str = "auto") -> None:
        check_cell(name, severity, edition)
        self.name, self.severity, self.edition = name, severity, edition
        self.seed = check_seed(seed)
        self.metadata: AugmentationMetadata = {
            "id": f"hardy {name} {severity}, edition {edition}, seed {self.seed}"
        }

    def __call__(
        self,
        batch: "tuple[Sequence[ArrayLike], Sequence[ArrayLike], Sequence[DatumMetadata]]",
    ) -> "tuple[Sequence[ArrayLike], Sequence[ArrayLike], Sequence[DatumMetadata]]":
        if not isinstance(batch, tuple | list) or len({*map(len, batch)}) > 1 or len(batch) != 3:
            raise InputError(
                f"expected a batch (images, targets, metadata), as many of each, got {_told(batch)}"
            )
        images, targets, facts = batch
        return [self._one(*pair) for pair in zip(images, facts, strict=True)], targets, facts

    def __repr__(self) -> str:
        return f"MaiteCorruption({self.name!r}, {self.severity}, seed={self.seed})"

    def _one(self, image: Any, facts: Any) -> Any:
        if not hasattr(facts, "get") or facts.get("id") is None:
            raise InputError(
                f'expected metadata with an "id" for each image, on which draws hang, got {facts!r}'
            )
        pixels = maite_pixels(image, f"image {facts['id']!r}")
        options: Any = {"seed": self.seed, "ids": [facts["id"]], "edition": self.edition}
        return maite_image(corrupt(pixels, self.name, self.severity, **options), image)


def _told(batch: Any) -> str:
    if not isinstance(batch, tuple | list):
        return type(batch).__name__
    return f"{len(batch)} of the lengths {', '.join(str(len(one)) for one in batch)}"
