"""The exponential average of a net's weights, which takes the net's place when it is tested and
written: it lags behind, but wanders less."""

import copy

import torch
from torch import Tensor, nn

_SLOWLY = 10  # steps after which it may look back further than it has run


class Average:
    """A copy of a net that follows it: after step t, w' becomes d w' + (1 − d) w, where d is
    min(decay, (1 + t) / (10 + t)), so that the random first weights are soon forgotten."""

    def __init__(self, net: nn.Module, decay: float) -> None:
        self.decay = decay
        self.net = copy.deepcopy(net).requires_grad_(False)
        self._pairs = _state_pairs(self.net, net)

    @torch.no_grad()
    def begin(self) -> None:
        """Begin with what the net has now, such as weights that it is fine-tuned from."""
        for ours, its in self._pairs:
            ours.copy_(its)

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """After step 0, 1, ... of the run. It never waits for the device."""
        kept = min(self.decay, (1 + step) / (_SLOWLY + step))
        own, others = zip(*self._pairs, strict=True)
        whole = [ours.is_floating_point() for ours in own]
        torch._foreach_lerp_(
            [ours for ours, real in zip(own, whole, strict=True) if real],
            [its for its, real in zip(others, whole, strict=True) if real],
            1 - kept,
        )
        for ours, its in self._pairs:
            if not ours.is_floating_point():  # such as the count of batches
                ours.copy_(its)


def _state_pairs(own: nn.Module, other: nn.Module) -> list[tuple[Tensor, Tensor]]:
    theirs = other.state_dict()
    return [(tensor, theirs[name]) for name, tensor in own.state_dict().items()]
