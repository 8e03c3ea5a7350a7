"""Hardy's own recipe: views by several methods, high frequencies of others, and one prediction."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import Draw, make_method, to_pixels
from hardy.train.methods import augmix
from hardy.train.methods.image_operations import SEEN_OPERATIONS
from hardy.train.methods.partners import Partners, WithPartners, need_view

VIEWS = 2
_PAIRS = "pairs"


@dataclass
class Best(WithPartners):
    """Two views of an image by HybridAugment++ and PRIME have to get one prediction: Hardy's own.

    A view passes the methods that `views` names, one after the other, each with a chance of
    `share`; the second view also passes P of HybridAugment++, for `paired` of the images. The loss
    is the mean of CE over the views, and `jsd` · JSD of them; with `clean` 1 the image as it is
    becomes a view as well. `views` may name whatever shows one view: augmix, prime,
    hybrid_augment, apr, trivial_augment, pix_mix, patch_uniform, with their defaults, joined by +.

    None of it counts as seen of -C or C̄: PRIME's warps, which resemble elastic_transform, come with
    `warp` 1 only. AFA's waves, which resemble a corruption of ImageNet-C̄, are left out; `afa` takes
    this method as its `main`. Each part can be switched off: share=0, paired=0, jsd=0."""

    views: str = "hybrid_augment+prime"
    share: float = 1.0
    paired: float = 0.6
    jsd: float = augmix.JSD_WEIGHT
    clean: int = 0
    warp: int = 0
    seen = SEEN_OPERATIONS

    def __post_init__(self) -> None:
        for name in ("share", "paired"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"expected {name} from 0 to 1, got {getattr(self, name)}")
        if not 0 <= self.jsd < float("inf"):
            raise InputError(f"expected finite jsd of at least 0, got {self.jsd}")
        if self.clean not in (0, 1):
            raise InputError(f"expected clean as 0 or 1, got {self.clean}")
        names = self.views.split("+")
        if len(set(names)) < len(names):
            raise InputError(f"expected each method of views once, got {self.views}")
        settings = {"prime": {"warp": self.warp}}
        shown = {name: make_method(name, settings.get(name)) for name in names}
        for name, method in shown.items():
            need_view(method, "best: expected in views", name)
        pairs = make_method("hybrid_augment", {"variant": "P", "share": self.paired})
        self.partners = Partners(shown | ({_PAIRS: pairs} if self.paired else {}))
        self.seen = self.partners.seen if self.share else ()

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        self.partners.begin(self, shape, times=VIEWS)

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        views = [*self.both(images)] + ([to_pixels(images)] if self.clean else [])
        logits = model(torch.cat(views)).float()
        right = functional.cross_entropy(logits, torch.cat([labels] * len(views)))
        if not self.jsd:
            return right
        return right + self.jsd * augmix.jsd(*logits.chunk(len(views)))

    def both(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The two views of each image."""
        first, second = self.shown(images.repeat(VIEWS, 1, 1, 1)).chunk(VIEWS)
        return first, self._paired(second)

    def view(self, images: Tensor) -> Tensor:
        """One view of each image, the second of them."""
        return self._paired(self.shown(images))

    def shown(self, images: Tensor) -> Tensor:
        """Bytes to pixels in 0..1, by the methods one after the other."""
        for name, partner in self.partners.methods.items():
            if name != _PAIRS:
                changed = (255 * partner.view(images) + 0.5).to(torch.uint8)
                kept = self.draw.uniform(len(images), 1, 1, 1) >= self.share
                images = torch.where(kept, images, changed)
        return to_pixels(images)

    def _paired(self, pixels: Tensor) -> Tensor:
        pairs: Any = self.partners.methods.get(_PAIRS)
        return pixels if pairs is None else pairs.paired(pixels)
