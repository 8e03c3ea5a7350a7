"""Corruptions as torch modules, for data pipelines and training loops on any device.

Images are uint8 (N, 3, H, W) or (3, H, W), as torch has them. This module imports torch;
`import hardy` imports neither.
"""

import torch
from torch import Tensor

from hardy.corrupt.calls import check_cell, corrupt
from hardy.engine.keys import Ids
from hardy.errors import InputError

LAYOUTS = ("chw", "hwc")


class Corrupt(torch.nn.Module):
    """One corruption at one severity, as a torch module.

    Without ids the images are numbered as they come, from one call to the next, so that no two of
    them get the same randomness; `restart` begins again. In a loader's workers the randomness hangs
    on the loader's generator too: each worker and each epoch has its own. Give each process of a
    training run another seed.

    >>> import hardy, torch
    >>> images = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
    >>> hardy.torch.Corrupt("fog", 3)(images).shape
    torch.Size([2, 3, 32, 32])
    """

    def __init__(
        self, name: str, severity: int, *, seed: int = 0, edition: str = "auto", layout: str = "chw"
    ) -> None:
        super().__init__()
        if layout not in LAYOUTS:
            raise InputError(f'expected a layout of "chw" or "hwc", got {layout!r}')
        check_cell(name, severity, edition)
        self.name, self.severity, self.seed = name, severity, seed
        self.edition, self.layout = edition, layout
        self._count = 0

    def restart(self, first: int = 0) -> None:
        """The next image is number `first` again."""
        self._count = first

    # The draws hang on numbers that change from call to call: a compiled graph would have to be
    # made anew for each. Outside it, nothing is lost.
    @torch.compiler.disable
    def forward(self, images: Tensor, ids: Ids | None = None) -> Tensor:
        self._check(images)
        single = images.ndim == 3
        batch = images[None] if single else images
        if ids is None:
            ids = self._numbered(len(batch))
        if self.layout == "chw":
            batch = batch.permute(0, 2, 3, 1)
        made = corrupt(
            batch.contiguous(),
            self.name,
            self.severity,
            seed=self.seed,
            ids=[ids] if isinstance(ids, int | str) else ids,
            edition=self.edition,
        )
        if self.layout == "chw":
            made = made.permute(0, 3, 1, 2)
        return made[0] if single else made

    def _numbered(self, count: int) -> Ids:
        """Ids of the next images. A restarted worker counts from 0 again: its seed is in the id."""
        numbers = range(self._count, self._count + count)
        self._count += count
        worker = torch.utils.data.get_worker_info()
        return numbers if worker is None else [f"{worker.seed}/{number}" for number in numbers]

    def _check(self, images: object) -> None:
        expected = "(3, H, W) or (N, 3, H, W)" if self.layout == "chw" else "(H, W, 3) or batches"
        if not isinstance(images, Tensor) or images.dtype != torch.uint8:
            kind = images.dtype if isinstance(images, Tensor) else type(images).__name__
            raise InputError(
                f"expected a uint8 tensor {expected}, got {kind}; corrupt before converting to "
                "floats and normalising, a PIL image after torchvision's PILToTensor"
            )
        channels = -3 if self.layout == "chw" else -1
        if images.ndim not in (3, 4) or images.shape[channels] != 3:
            raise InputError(f"expected a tensor {expected}, got {tuple(images.shape)}")

    def extra_repr(self) -> str:
        told = f"{self.name!r}, {self.severity}, seed={self.seed}, edition={self.edition!r}"
        return f"{told}, layout={self.layout!r}"
