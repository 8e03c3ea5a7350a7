"""Corruptions as torch modules, for data pipelines and training loops on any device.

Images are uint8 (N, 3, H, W) or (3, H, W), as torch has them, or PIL images. This module imports
torch; `import hardy` imports neither.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from hardy.corrupt.calls import corrupt
from hardy.corrupt.several import Named, deal, list_named
from hardy.engine.door import from_pil, is_pil
from hardy.engine.keys import Ids, check_seed, is_int
from hardy.errors import InputError

_LAYOUTS = ("chw", "hwc")


class Corrupt(torch.nn.Module):
    """A corruption at a severity, or for each image one of several, as a torch module.

    `name` and `severity` may be lists: each image gets one of each, by the seed and its id; with
    the probability 1 - `p` it stays as it is. A PIL image comes back as one, in RGB, and an Image
    of torchvision's as such. With `floats` tensors of floats from 0 to 1 are taken too: x becomes
    the byte round(255 x), halves to even, and a corrupted byte b becomes b / 255. What is given
    beside the images, such as a label, is handed on as it is: `v2.Compose` does that.

    Without ids the images are numbered as they come, from one call to the next, so that no two of
    them get the same randomness; `restart` begins again. In a loader's workers the randomness hangs
    on the loader's generator too: each worker and each epoch has its own. Give each process of a
    training run another seed. In a `CorruptedDataset` it hangs on the image and the epoch instead.

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
        self._named = list_named(name, severity, edition)
        self._count = 0

    def restart(self, first: int = 0) -> None:
        """The next image is number `first` again."""
        self._count = first

    # The draws hang on numbers that change from call to call: a compiled graph would have to be
    # made anew for each. Outside it, nothing is lost.
    @torch.compiler.disable
    def forward(self, images: Any, *beside: Any, ids: Ids | None = None) -> Any:
        made = self._pictures(images, ids)
        return (made, *beside) if beside else made

    def _pictures(self, images: Any, ids: Ids | None) -> Any:
        if is_pil(images):
            from PIL.Image import fromarray

            return fromarray(self._some(from_pil(images)[None], ids)[0])
        self._check(images)
        single = images.ndim == 3
        batch = images.as_subclass(Tensor)
        made = self._some(batch[None] if single else batch, ids)
        made = made[0] if single else made
        # Torchvision has images that are a kind of tensor, and knows them by that.
        kept = type(images).__module__.startswith("torchvision.")
        return made.as_subclass(type(images)) if kept else made

    def _some(self, batch: Any, ids: Ids | None) -> Any:
        """The batch, with those images corrupted that are drawn."""
        count, made = len(batch), batch
        if ids is None:
            ids = self._numbered(count)
        listed = [ids] if isinstance(ids, int | str) else ids
        for cell, places, some in deal(self._named, self.p, self.seed, listed, count):
            if len(places) == count:
                return self._corrupted(batch, cell, some)
            made = batch.clone() if made is batch else made
            made[places] = self._corrupted(batch[places], cell, some)
        return made

    def _corrupted(self, batch: Any, cell: Named, ids: Ids) -> Any:
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
        worker = get_worker_info()
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


class CorruptedDataset(Dataset):
    """A data set whose images are corrupted by their index and the epoch.

    What image i becomes in epoch e hangs on the seed, e and i alone: in any order, batch, worker
    and process it is the same, and `set_epoch`, which also reaches workers that persist, makes it
    another. `image` is the place of the picture in an item, a number or a key; `then` is what is
    done to the corrupted picture, such as to make floats of it.

    >>> import hardy, torch
    >>> pixels = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
    >>> pictures = torch.utils.data.TensorDataset(pixels, torch.arange(2))
    >>> noisy = hardy.torch.CorruptedDataset(pictures, hardy.torch.Corrupt("shot_noise", 3))
    >>> noisy.set_epoch(1)
    >>> [label for image, label in noisy]
    [tensor(0), tensor(1)]
    """

    def __init__(
        self,
        dataset: Any,
        corrupt: Corrupt,
        *,
        image: int | str = 0,
        then: Callable[[Any], Any] | None = None,
    ) -> None:
        if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
            raise InputError(
                f"expected a data set with items by index, got {type(dataset).__name__}; of one "
                "that can only be gone through, corrupt the images as they come: Corrupt(...)"
            )
        if not isinstance(corrupt, Corrupt):
            raise InputError(f'expected Corrupt("fog", 3) or the like, got {corrupt!r}')
        self.dataset, self.corrupt, self.image, self.then = dataset, corrupt, image, then
        # Workers that live through several epochs see it change.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """Call it before each epoch begins, as that of a `DistributedSampler`."""
        if not is_int(epoch) or epoch < 0:
            raise InputError(f"expected the number of an epoch, 0 or more, got {epoch!r}")
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        row = int(index) + (len(self) if index < 0 else 0)
        if not 0 <= row < len(self):  # which also ends a loop over all items
            raise IndexError(f"expected an index below {len(self)}, got {index}")
        item = self.dataset[row]
        if is_pil(item) or isinstance(item, Tensor):
            return self._made(item, row)
        parts: Any = dict(item) if isinstance(item, Mapping) else list(item)
        try:
            picture = parts[self.image]
        except (KeyError, IndexError, TypeError) as error:
            there = list(item) if isinstance(item, Mapping) else f"{len(parts)} parts"
            raise InputError(
                f"expected items with a picture at {self.image!r}, got {there}; say where it is: "
                'image="pixels"'
            ) from error
        parts[self.image] = self._made(picture, row)
        if hasattr(item, "_fields"):  # a named tuple
            return type(item)(*parts)
        return tuple(parts) if isinstance(item, tuple) else parts

    def _made(self, picture: Any, row: int) -> Any:
        made = self.corrupt(picture, ids=f"{self._epoch.item()}/{row}")
        return made if self.then is None else self.then(made)
