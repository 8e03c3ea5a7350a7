"""Noise that was learned against a model: what it did, and what it looks like."""

import base64
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import erf, sqrt
from typing import NamedTuple

from hardy.errors import InputError
from hardy.images.display import data_uri
from hardy.report.figures import ATTACKS, Figure, Panel, Series, figure
from hardy.report.gathered import ModelEntry, Section
from hardy.report.words import count, short
from hardy.report.worst_section import reencode
from hardy.store.attack_files import NOISES, Attacked

PICTURED = 6


class ShownAttack(NamedTuple):
    """An attack as a page has it; pictures are data URIs."""

    entry: ModelEntry
    attacked: Attacked
    patches: tuple[str, ...] = ()
    gaussian: tuple[str, ...] = ()
    samples: tuple[tuple[str, ...], ...] = ()  # clean and noisy

    @property
    def kind(self) -> str:
        side = NOISES.get(self.attacked.noise)
        return f"{side} × {side}" if side else self.attacked.noise

    @property
    def title(self) -> str:
        """The model and what was asked for, since a model may have several attacks."""
        steps = count(self.attacked.steps, "step")
        return f"{self.entry.label}, {self.kind}, ε {self.attacked.epsilon:.4g}, {steps}"

    @property
    def sentence(self) -> str:
        """Say whether the generator learned more than Gaussian noise does."""
        worse = "Worse" if self.attacked.learned else "Not clearly worse"
        points = f"{self.attacked.difference.figure(sign='+')} points"
        return f"{worse} for it than Gaussian noise of the same norm: {points}."


def shown(section: Section) -> list[list[ShownAttack]]:
    """Group attacks that were measured on the same images.

    Only those of the best models have pictures, since noise takes much room.
    """
    found = [(entry, one) for entry in section.entries for one in entry.attacks]
    groups: dict[str, list[ShownAttack]] = {}
    for place, (entry, one) in enumerate(found):
        made = ShownAttack(entry, one)
        if place < PICTURED:
            made = made._replace(
                patches=_uris(entry, one.patches),
                gaussian=_uris(entry, one.gaussian_patches),
                samples=tuple(_uris(entry, pair) for pair in one.samples),
            )
        groups.setdefault(one.measured_hash, []).append(made)
    return list(groups.values())


def _uris(entry: ModelEntry, pictures: Iterable[str]) -> tuple[str, ...]:
    try:
        return tuple(data_uri(reencode(base64.b64decode(picture))) for picture in pictures)
    # Pillow raises any of these for bytes that are no picture.
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(
            f"{entry.run.folder}: expected pictures in its attacks, but {error}; delete the "
            "attack's file, and `hardy eval --attack` makes it again"
        ) from error


@figure(needs=(ATTACKS,), part="attacks")
def noise(section: Section) -> Iterator[Figure]:
    """How often each value of the noise occurs, beside a Gaussian of the same spread."""
    found = [(entry, one) for entry in section.entries for one in entry.attacks]
    yield Figure(
        name=f"{section.slug}-noise",
        kind="lines",
        score="density",
        title="Values of the adversarial noise",
        sees=_sees(*found[0]),
        x_title="Noise, in units of its root mean square",
        y_title="Share of the values (%)",
        panels=tuple(Panel(ShownAttack(*one).title, _series(*one)) for one in found),
        size="medium",
        has_legend=False,
    )


def _series(entry: ModelEntry, one: Attacked) -> tuple[Series, ...]:
    middles = tuple((low + high) / 2 for low, high in pairwise(one.edges))
    normal = tuple(100 * (_below(high) - _below(low)) for low, high in pairwise(one.edges))
    return (
        Series("Gaussian", middles, normal),
        Series(short(entry.label), middles, tuple(one.shares), entry.style),
    )


def _sees(entry: ModelEntry, one: Attacked) -> str:
    bins = zip(one.shares, pairwise(one.edges), strict=True)
    within = sum(share for share, (low, high) in bins if low >= -2 and high <= 2)
    return (
        f"Of the noise against {entry.label}, {100 - within:.1f} % lies beyond twice its root mean "
        f"square; of Gaussian noise, drawn in grey, {200 * _below(-2):.1f} %."
    )


def _below(value: float) -> float:
    """The share of standard normal values below this one."""
    return (1 + erf(value / sqrt(2))) / 2
