"""The net of a training as it is tested: in evaluation mode, on images as they are."""

from collections.abc import Iterable

import torch
from torch import Tensor

from hardy.train.method import Classifier, to_pixels
from hardy.train.training_data import TrainingSet

_FEW = 64  # images that tell whether a net gives numbers


class Tested:
    """The classifier that is tested and, in the end, written: the net, or its average."""

    def __init__(self, model: Classifier, device: torch.device) -> None:
        self.model, self.device = model, device

    @property
    def net(self) -> torch.nn.Module:
        return self.model.net

    def is_sound(self, data: TrainingSet) -> bool:
        """Whether it gives numbers for the first images; after the last step no loss would tell."""
        images, _ = data.shown(torch.arange(min(_FEW, len(data))))
        return bool(torch.isfinite(self._logits(images)).all())

    def share_right(self, batches: Iterable[tuple[Tensor, Tensor]]) -> float:
        seen = right = 0
        for images, labels in batches:
            right += self.count_right(images, labels)
            seen += len(labels)
        return right / max(1, seen)

    def count_right(self, images: Tensor, labels: Tensor) -> int:
        """How many of the images uint8 (N, H, W, 3) it gets right."""
        answers = self._logits(images).argmax(1).cpu()
        return int((answers == labels.cpu()).sum())

    def _logits(self, images: Tensor) -> Tensor:
        self.model.eval()
        with torch.no_grad():
            logits: Tensor = self.model(to_pixels(images.to(self.device).permute(0, 3, 1, 2)))
        self.model.train()
        return logits
