"""Corruptions as torch modules, for data pipelines and training loops on any device.

Images are uint8 (N, 3, H, W) or (3, H, W), as torch has them, or PIL images. This module imports
torch; `import hardy` imports neither.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hardy.corrupt.calls import check_cell, corrupt
from hardy.engine import rng
from hardy.engine.door import from_pil, is_pil
from hardy.engine.keys import Ids, check_seed, image_ids
from hardy.engine.ops import ops_for
from hardy.errors import InputError

_LAYOUTS = ("chw", "hwc")


class Corrupt(torch.nn.Module):
    """A corruption at a severity, or for each image one of several, as a torch module.

    `name` and `severity` may be lists: each image gets one of each, by the seed and its id; with
    the probability 1 - `p` it stays as it is. A PIL image comes back as one, in RGB. With `floats`
    tensors of floats from 0 to 1 are taken too: x becomes the byte round(255 x), halves to even,
    and a corrupted byte b becomes b / 255.

    Without ids the images are numbered as they come, from one call to the next, so that no two of
    them get the same randomness; `restart` begins again. In a loader's workers the randomness hangs
    on the loader's generator too: each worker and each epoch has its own. Give each process of a
    training run another seed.

    >>> import hardy, torch
    >>> images = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
    >>> hardy.torch.Corrupt("fog", 3)(images).shape
    torch.Size([2, 3, 32, 32])
    >>> hardy.torch.Corrupt(["fog", "snow"], [1, 2, 3], p=0.5, floats=True)(images / 255).dtype
    torch.float32
    """

    def __init__(
        self,
        name: str | Sequence[str],
        severity: int | Sequence[int],
        *,
        seed: int = 0,
        edition: str = "auto",
        layout: str = "chw",
        p: float = 1.0,
        floats: bool = False,
    ) -> None:
        super().__init__()
        if layout not in _LAYOUTS:
            raise InputError(f'expected a layout of "chw" or "hwc", got {layout!r}')
        if not isinstance(p, int | float) or not 0 <= p <= 1:
            raise InputError(f"expected a probability p from 0 to 1, got {p!r}")
        self.name, self.severity, self.seed = name, severity, check_seed(seed)
        self.edition, self.layout, self.p, self.floats = edition, layout, p, floats
        self._cells = [(one, level) for one in _several(name) for level in _several(severity)]
        if not self._cells:
            raise InputError("expected at least one corruption and severity, got an empty list")
        for one, level in self._cells:
            check_cell(one, level, edition)
        self._count = 0

    def restart(self, first: int = 0) -> None:
        """The next image is number `first` again."""
        self._count = first

    # The draws hang on numbers that change from call to call: a compiled graph would have to be
    # made anew for each. Outside it, nothing is lost.
    @torch.compiler.disable
    def forward(self, images: Any, ids: Ids | None = None) -> Any:
        if is_pil(images):
            from PIL.Image import fromarray

            return fromarray(self._some(from_pil(images)[None], ids)[0])
        self._check(images)
        single = images.ndim == 3
        batch = images.as_subclass(Tensor)  # torchvision has images that are a kind of tensor
        made = self._some(batch[None] if single else batch, ids)
        return made[0] if single else made

    def _some(self, batch: Any, ids: Ids | None) -> Any:
        """The batch, with those images corrupted that are drawn."""
        count, made = len(batch), batch
        if ids is None:
            ids = self._numbered(count)
        for cell, places, some in self._drawn([ids] if isinstance(ids, int | str) else ids, count):
            if len(places) == count:
                return self._corrupted(batch, cell, some)
            made = batch.clone() if made is batch else made
            made[places] = self._corrupted(batch[places], cell, some)
        return made

    def _drawn(self, ids: Ids, count: int) -> list[tuple[tuple[str, int], Sequence[int], Ids]]:
        """Each corruption with the places and ids of its images."""
        if len(self._cells) == 1 and self.p == 1:
            return [(self._cells[0], range(count), ids)]
        numbers = image_ids(ids, count)
        key = rng.derive_key(self.seed, "any", "choice", 0)
        draws = rng.Draws(ops_for(numbers), key, numbers)
        chosen = draws.integers("cell", (), len(self._cells))
        applied = draws.uniform("applied", (), 0, 1) < self.p
        found = []
        for number, cell in enumerate(self._cells):
            if places := (applied & (chosen == number)).nonzero()[0].tolist():
                found.append((cell, places, numbers[places]))
        return found

    def _corrupted(self, batch: Any, cell: tuple[str, int], ids: Ids) -> Any:
        if not isinstance(batch, Tensor):
            return corrupt(batch, *cell, seed=self.seed, ids=ids, edition=self.edition)
        given = (batch.float() * 255).round().byte() if batch.is_floating_point() else batch
        rows = given.permute(0, 2, 3, 1) if self.layout == "chw" else given
        made = corrupt(rows.contiguous(), *cell, seed=self.seed, ids=ids, edition=self.edition)
        made = made.permute(0, 3, 1, 2) if self.layout == "chw" else made
        return (made.float() / 255).to(batch.dtype) if batch.is_floating_point() else made

    def _numbered(self, count: int) -> Ids:
        """Ids of the next images. A restarted worker counts from 0 again: its seed is in the id."""
        numbers = range(self._count, self._count + count)
        self._count += count
        worker = torch.utils.data.get_worker_info()
        return numbers if worker is None else [f"{worker.seed}/{number}" for number in numbers]

    def _check(self, images: object) -> None:
        expected = "(3, H, W) or (N, 3, H, W)" if self.layout == "chw" else "(H, W, 3) or batches"
        kind = images.dtype if isinstance(images, Tensor) else type(images).__name__
        real = isinstance(images, Tensor) and images.is_floating_point()
        if not isinstance(images, Tensor) or not (images.dtype == torch.uint8 or real):
            raise InputError(f"expected a PIL image or a uint8 tensor {expected}, got {kind}")
        if real and not self.floats:
            raise InputError(
                f"expected a PIL image or a uint8 tensor {expected}, got {kind}; corrupt before "
                "converting to floats and normalising, or say floats=True if 0 is black, 1 white"
            )
        channels = -3 if self.layout == "chw" else -1
        if images.ndim not in (3, 4) or images.shape[channels] != 3:
            raise InputError(f"expected a tensor {expected}, got {tuple(images.shape)}")
        if real and images.numel():
            low, high = (end.item() for end in images.aminmax())
            if not (low >= 0 and high <= 1):  # nor if one is not a number
                raise InputError(
                    f"expected floats from 0 to 1, got {low:g} to {high:g}; corrupt before "
                    "normalising, and clamp what a resize has brought beyond the ends"
                )

    def extra_repr(self) -> str:
        told = f"{self.name!r}, {self.severity}, seed={self.seed}, edition={self.edition!r}"
        chance = f", p={self.p}" if self.p != 1 else ""
        return f"{told}, layout={self.layout!r}{chance}{', floats=True' if self.floats else ''}"


def _several(given: Any) -> Sequence[Any]:
    return given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
