"""Adversarial logit pairing (Kannan et al., 2018)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import Method, at_rest, need_positive, to_pixels


@dataclass
class AdversarialLogitPairing(Method):
    """An image and its adversarial partner have to get the same logits.

    CE over the clean images and their adversarial partners, each counting the same, + `weight` ·
    the mean of (z(x') − z(x))² over images and classes, z the logits.

    x' is found by projected gradient descent within ±`epsilon` of x and 0..1: from a start uniform
    in that box, `steps` steps of `step` along the sign of the gradient of CE(z(x'), y). Defaults:
    the attack of Madry et al. (2018) for CIFAR-10. A step of training then takes about nine times
    as long as without.

    Decided here: every image has a partner, so that all of the batch is paired, and clean and
    adversarial ones pass through the net together, in one batch; the attack is untargeted; it meets
    the net in eval mode, so that its passes move no running statistics and it fools the net that
    will be used; a weight of 0.5."""

    epsilon: float = 8 / 255
    step: float = 2 / 255
    steps: int = 7
    weight: float = 0.5

    def __post_init__(self) -> None:
        for name in ("epsilon", "step", "weight"):
            need_positive(name, getattr(self, name))
        if self.steps < 1:
            raise InputError(f"expected steps of at least 1, got {self.steps}")

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        pixels = to_pixels(images)
        logits = model(torch.cat([pixels, self.attack(model, pixels, labels)])).float()
        clean, adversarial = logits.chunk(2)
        apart = functional.mse_loss(adversarial, clean)
        return functional.cross_entropy(logits, torch.cat([labels, labels])) + self.weight * apart

    def attack(self, model: nn.Module, pixels: Tensor, labels: Tensor) -> Tensor:
        lowest, highest = (pixels - self.epsilon).clamp(min=0), (pixels + self.epsilon).clamp(max=1)
        found = torch.lerp(lowest, highest, self.draw.uniform(*pixels.shape))
        with at_rest(model):
            for _ in range(self.steps):
                found.requires_grad_()
                # The sum: of a mean the gradients of an image would be smaller in a larger batch.
                loss = functional.cross_entropy(model(found).float(), labels, reduction="sum")
                (slope,) = torch.autograd.grad(loss, found)
                found = (found.detach() + self.step * slope.sign()).clamp(lowest, highest)
        return found
