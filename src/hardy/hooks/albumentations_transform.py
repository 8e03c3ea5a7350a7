"""A transform of albumentations. This file imports albumentations; nothing imports it unasked."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from hardy.corrupt.calls import corrupt
from hardy.corrupt.several import deal, list_named
from hardy.errors import need

# Otherwise its import asks PyPI for a newer version of it.
os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
_Base: Any = need("albumentations", "albumentations", "AlbumentationsCorrupt").ImageOnlyTransform
_SEEDS = 2**63


class AlbumentationsCorrupt(_Base):
    """A corruption at a severity, or one of several, as a transform of albumentations.

    `name` and `severity` may be lists: each image gets one of each. Images are uint8 (H, W, 3), and
    boxes, masks and key points stay as they are. The randomness follows albumentations' own seed,
    `Compose(..., seed=7)`, and in a loader's workers the seed of the worker too, which is another
    one for each worker and epoch: albumentations' own generator is the same in all workers.

    ```python
    import albumentations
    from hardy.hooks import AlbumentationsCorrupt

    prepare = albumentations.Compose([AlbumentationsCorrupt("fog", [1, 2, 3], p=0.5)], seed=7)
    foggy = prepare(image=image)["image"]
    ```
    """

    def __init__(
        self,
        name: str | Sequence[str],
        severity: int | Sequence[int],
        *,
        edition: str = "auto",
        p: float = 0.5,
    ) -> None:
        super().__init__(p=p)
        self.name, self.severity, self.edition = name, severity, edition
        self._named = list_named(name, severity, edition)

    def get_params(self) -> dict[str, Any]:
        """What an image's randomness hangs on; albumentations can replay it."""
        return {"draw": self.py_random.randrange(_SEEDS), "worker": _worker_seed()}

    def apply(self, img: Any, draw: int, worker: int, **others: Any) -> Any:
        ((cell, _, ids),) = deal(self._named, 1, draw, [worker], 1)
        return corrupt(img, *cell, seed=draw, ids=ids, edition=self.edition)

    def get_transform_init_args_names(self) -> tuple[str, ...]:
        return ("name", "severity", "edition")


def _worker_seed() -> int:
    """The seed that a loader of torch gave this process; 0 where there is none."""
    loading = sys.modules.get("torch.utils.data")
    worker = None if loading is None else loading.get_worker_info()
    return 0 if worker is None else int(worker.seed)
