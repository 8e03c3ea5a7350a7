"""The curves of trainings: loss, and what was measured on validation images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hardy.report.figures import SHOWN, TRAININGS, Figure, Panel, Series, figure
from hardy.report.trainings import TrainingCurve
from hardy.report.words import count, short
from hardy.scores.text_tables import TextTable
from hardy.train.run_folder import ROBUST, VALIDATED

if TYPE_CHECKING:
    from hardy.report.gathered import StoreReport


@figure(needs=(TRAININGS,), part="training")
def training(report: StoreReport) -> Iterator[Figure]:
    """Loss, accuracy on validation images and error under corruptions, epoch by epoch."""
    curves = report.trainings
    suites = dict.fromkeys(one.suite for one in curves if one.suite)
    under = ", ".join(suites) or "corruptions"
    wanted = (
        ("Loss", "loss", 1.0, ""),
        ("Accuracy on validation images (%)", VALIDATED, 100.0, "%"),
        (f"Error under {under} (%)", ROBUST[0], 100.0, "%"),
    )
    panels = [
        Panel(title, tuple(_series(curves, name, factor)), unit=unit)
        for title, name, factor, unit in wanted
        if any(one.last(name) is not None for one in curves)
    ]
    yield Figure(
        name="training-curves",
        kind="lines",
        score="training",
        title="Curves of training",
        sees=_see(curves),
        x_title="Epoch",
        y_title="",
        panels=tuple(panels),
        size="medium",
    )


def _series(curves: Sequence[TrainingCurve], name: str, factor: float) -> Iterator[Series]:
    for place, one in enumerate(curves):
        epochs, values = one.line(name, factor)
        if not epochs:
            continue
        low = high = None
        if name == ROBUST[0]:
            low, high = (one.line(end, factor)[1] for end in ROBUST[1:])
        label, shown = short(one.label), place < SHOWN
        yield Series(label, epochs, values, one.style, low=low, high=high, shown=shown)


def _see(curves: Sequence[TrainingCurve]) -> str:
    parts = []
    for one in curves[:SHOWN]:
        told = [f"loss {one.log[-1]['loss']:.3g}"]
        if (right := one.last(VALIDATED)) is not None:
            told.append(f"{100 * right:.1f} % of the validation images right")
        if (wrong := one.last(ROBUST[0])) is not None:
            told.append(f"{100 * wrong:.1f} % wrong under corruptions")
        parts.append(f"{one.label} after {_done(one)}: {', '.join(told)}.")
    if any(one.suite for one in curves):
        parts.append("Errors under corruptions are of a sample, with their 95 % intervals.")
    return " ".join(parts)


def _done(one: TrainingCurve) -> str:
    epochs = count(one.done, "epoch")
    return epochs if one.done >= one.epochs else f"{epochs} of {one.epochs}"


def training_table(curves: Sequence[TrainingCurve]) -> TextTable:
    """What the last row of each log says."""

    def share(value: float | None) -> str:
        return "–" if value is None else f"{100 * value:.1f} %"

    heads = ("training", "method", "net", "epochs", "loss", "validation accuracy", "robust error")
    rows = [
        (
            *(one.label, one.method, one.net, _done(one), f"{one.log[-1]['loss']:.4g}"),
            *(share(one.last(VALIDATED)), share(one.last(ROBUST[0]))),
        )
        for one in curves
    ]
    return TextTable("Training", heads, rows)
