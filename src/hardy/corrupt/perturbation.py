"""What a perturbation is: a draw and a formula for the frames of a sequence, under a name.

A sequence starts from a base image and a view of it: the window that is looked at, and what
finishes it (a resize, or nothing). Perturbations that move the picture move the base under the
window, so that what was outside comes in; the others change what is seen.

Frames are made one by one, in any choice: frame k alone is frame k of the whole.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hardy.corrupt.corruption import Fields, no_draws, parameters_of
from hardy.engine.ops import Array, Ops, Window, ops_for
from hardy.engine.rng import Draws
from hardy.registry import Registry, summary

# The indices of the frames that are wanted, in increasing order.
Wanted = Sequence[int]


@dataclass(frozen=True)
class Perturbation:
    """`draw` makes the random fields of one frame; what the whole sequence shares is frame 0's.

    Both callables take the parameters of one level by name; an edition file holds them.
    """

    name: str
    category: str
    parameters: tuple[str, ...]
    summary: str
    draw: Callable[..., Fields]  # (draws, size, frame, **params)
    frames: Callable[..., Iterator[Array]]  # (ops, scene, wanted, **params)


PERTURBATIONS: Registry[Perturbation] = Registry("perturbation")


class View(NamedTuple):
    """The part of a base image that is looked at, and what is done to it before it is shown."""

    window: Window
    finish: Callable[[Array], Array] | None = None

    def of(self, ops: Ops, images: Array) -> Array:
        seen = ops.slide(images, 0, self.window)
        return self.finish(seen) if self.finish else seen


class Scene(NamedTuple):
    """What a formula works on: images (N, H, W, 3), the window seen, and the draws by frame."""

    images: Array
    window: Window
    fields: Callable[[int], Fields]


def perturbation(
    category: str, draw: Callable[..., Fields] = no_draws
) -> Callable[[Callable[..., Iterator[Array]]], Callable[..., Iterator[Array]]]:
    """Register a formula under its own name; parameters are its keyword-only arguments."""

    def register(frames: Callable[..., Iterator[Array]]) -> Callable[..., Iterator[Array]]:
        about = (frames.__name__, category, parameters_of(frames), summary(frames))
        PERTURBATIONS.add(frames.__name__, Perturbation(*about, draw, frames))
        return frames

    return register


def whole_view(images: Array) -> View:
    """The view of everything."""
    return View((0, 0, images.shape[1], images.shape[2]))


def run_frames(
    perturbation: Perturbation,
    bases: Array,
    params: Mapping[str, Any],
    *,
    wanted: Wanted,
    key: int,
    ids: Array,
    view: View | None = None,
    on_base: bool = False,
) -> Iterator[Array]:
    """The wanted frames of a batch of bases (N, H, W, 3), each (N, height, width, 3).

    With `on_base` the bases are changed, then seen and finished; else what is seen is changed.
    """
    ops = ops_for(bases)
    view = view or whole_view(bases)
    images = bases if on_base else view.of(ops, bases)
    window = view.window if on_base else whole_view(images).window
    draws, size = Draws(ops, key, ids), (window[2], window[3])

    def fields(frame: int) -> Fields:
        return perturbation.draw(draws, size, frame, **params)

    for frame in perturbation.frames(ops, Scene(images, window, fields), wanted, **params):
        yield view.finish(frame) if on_base and view.finish else frame
