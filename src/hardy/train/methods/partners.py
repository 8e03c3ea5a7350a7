"""Methods that show another method's images: each makes one view of a batch."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from hardy.errors import InputError
from hardy.train.method import Batches, Method


class Partners:
    """The other methods of a method, each under a name that its state is kept by."""

    def __init__(self, methods: Mapping[str, Method]) -> None:
        self.methods: dict[str, Any] = dict(methods)

    @property
    def seen(self) -> tuple[str, ...]:
        """What they have seen, each corruption once."""
        return tuple(dict.fromkeys(name for one in self.methods.values() for name in one.seen))

    def begin(self, owner: Method, shape: tuple[int, ...], times: int = 1) -> None:
        """`times` as many images as the owner's batch has are asked of them at once."""
        for one in self.methods.values():
            one.classifier, one.batch = owner.classifier, times * owner.batch
            one.begin(owner.draw, shape)

    def begin_epoch(self, owner: Method, epoch: int, model: Any, batches: Batches) -> None:
        for one in self.methods.values():
            one.track = owner.track
            one.begin_epoch(epoch, model, batches)

    def epoch_state(self) -> dict[str, Tensor]:
        return _joined({name: one.epoch_state() for name, one in self.methods.items()})

    def restore_epoch(self, owner: Method, epoch: int, state: Mapping[str, Tensor]) -> None:
        for name, one in self.methods.items():
            one.track = owner.track
            one.restore_epoch(epoch, _part(state, name))

    def state(self) -> dict[str, Tensor]:
        return _joined({name: one.state() for name, one in self.methods.items()})

    def restore(self, state: Mapping[str, Tensor]) -> None:
        for name, one in self.methods.items():
            one.restore(_part(state, name))


class WithPartners(Method):
    """The base of methods that have partners: an epoch begins for these, and their state is kept.
    Each begins them itself, since it knows how many images it will ask of them."""

    partners: Partners

    def begin_epoch(self, epoch: int, model: nn.Module, batches: Batches) -> None:
        self.partners.begin_epoch(self, epoch, model, batches)

    def epoch_state(self) -> dict[str, Tensor]:
        return self.partners.epoch_state()

    def restore_epoch(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        self.partners.restore_epoch(self, epoch, state)

    def state(self) -> dict[str, Tensor]:
        return self.partners.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.partners.restore(state)


def need_view(method: Method, what: str, name: str) -> Method:
    """The method, refused if it does not show one view of an image."""
    if not hasattr(method, "view"):
        raise InputError(
            f"{what} a method that shows one view of an image, such as trivial_augment, got {name}"
        )
    return method


def _joined(states: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    return {
        f"{owner}.{name}": tensor for owner, one in states.items() for name, tensor in one.items()
    }


def _part(state: Mapping[str, Tensor], owner: str) -> dict[str, Tensor]:
    start = f"{owner}."
    return {name[len(start) :]: one for name, one in state.items() if name.startswith(start)}
