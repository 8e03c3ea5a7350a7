"""The page of `experiments.nets`, results/nets.md, and its picture: error against cost."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.table import grid
from experiments import score_files
from experiments.circumstances import seen_by
from experiments.comparisons import scores_of
from experiments.plan import STUDY
from experiments.score_files import C_BAR_MEAN
from hardy.errors import InputError, need
from hardy.files import write_file

CLEAN = "clean error"
# The score that each suite is told by.
MAIN = {"cifar10_c": "mean error", "cifar10_c_bar": "mean error", "cifar10_p": "flip probability"}
EXIT, CONVERTED = ":exit=", ":converted=yes"  # views of a net
METHODS = "methods"  # the folder of the study of methods, beside the results of nets
_COLUMNS = (f"cifar10_c {CLEAN}", *(f"{suite} {score}" for suite, score in MAIN.items()))
_METHOD_SCORES = (CLEAN, "mean error", C_BAR_MEAN, "flip probability")
_HEAD = ("clean error", "mean -C error", "mean C̄ error", "flips in -P")
_NOT_RUN = "it trains all methods and nets on a GPU"


class Row(NamedTuple):
    """A net in one view, or a method: its figures by seed, each with the ends of its interval."""

    name: str
    shows: str
    weights: float  # millions
    products: float  # millions for an image
    seconds: float  # of a training
    figures: list[list[Sequence[float]]]  # by column, then by seed


def write(work: Path, out: Path) -> None:
    """The page, and the picture beside it."""
    nets, methods = list(_net_rows(work)), list(_method_rows(work))
    if not nets and not methods:
        raise InputError(f"expected results of `run` or `study` in {work}, got none; run it first")
    picture = out.with_suffix(".png")
    write_file(picture, _drawn(nets, methods))
    write_file(out, "\n\n".join(_page(nets, methods, work, picture.name)).encode() + b"\n")


def _records(work: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in sorted((work / "results").glob("*.json"))]


def _net_rows(work: Path) -> Iterator[Row]:
    by_name: dict[str, list[dict[str, Any]]] = {}
    for record in _records(work):
        by_name.setdefault(record["name"], []).append(record)
    for same in by_name.values():
        head = same[0]
        seconds = statistics.fmean(record["seconds"] for record in same)
        for place, row in enumerate(head["rows"]):
            yield Row(
                f"`{head['net']}{row['view'].replace(':', ' ')}`",
                head["shows"],
                head["weights"],
                row["products"],
                seconds,
                [[record["rows"][place][column] for record in same] for column in _COLUMNS],
            )


def _method_rows(work: Path) -> Iterator[Row]:
    folder = work / METHODS / "results"
    records = score_files.read([folder]) if folder.exists() else {}
    by_name: dict[str, list[str]] = {}
    for name, record in records.items():
        if record["group"] == STUDY:
            plain = name.removeprefix(f"{STUDY}-").partition("-seed")[0]
            by_name.setdefault(plain, []).append(name)
    for plain, names in by_name.items():
        scores = [scores_of(name, records) for name in names]
        seconds = [records[name]["seconds"]["training"] for name in names]
        figures = [
            [(one[key].value, one[key].interval.low, one[key].interval.high) for one in scores]
            for key in _METHOD_SCORES
        ]
        seen = ", ".join(seen_by(records[names[0]])) or "-"
        yield Row(f"`{plain}`", seen, 0.0, 0.0, statistics.fmean(seconds), figures)


def _page(nets: list[Row], methods: list[Row], work: Path, picture: str) -> Iterator[str]:
    yield "# Nets and methods: error against cost"
    yield (
        "Figures are percent. In brackets: of one training, the 95 % interval over test images; of "
        "several seeds, whose mean stands before it, the least and the largest."
    )
    yield f"![mean -C error against what a net and a method cost]({picture})"
    if nets:
        yield "## Nets at equal cost"
        first = _records(work)[0]
        yield (
            f"Trained by `standard` for {first['epochs']} epochs with the usual recipe, on "
            f"{_machine(first)}. Weights and products are millions, products of one image of 32 "
            "px: through the whole net, up to an exit, or as converted."
        )
        rows = [
            [row.name, row.shows, f"{row.weights:.2f}", f"{row.products:.0f}", *_shown(row)]
            for row in nets
        ]
        yield grid(["net", "shows", "weights", "products", "seeds", *_HEAD], rows)
    if methods:
        first = next(iter(score_files.read([work / METHODS / "results"]).values()))
        recipe = first["recipe"]
        yield "## Methods"
        yield (
            f"{recipe['net']}, {recipe['epochs']} epochs, on {_machine(first)}. Seen: corruptions "
            "that training images show, so that a gain under them says less. afa+NAME shows views "
            "of NAME beside its waves. Seconds are those of a training."
        )
        rows = [[row.name, row.shows, f"{row.seconds:.0f}", *_shown(row)] for row in methods]
        yield grid(["method", "seen", "seconds", "seeds", *_HEAD], rows)
    yield "## The command"
    command = "hardy fetch cifar10\npython -m experiments.nets study --work work"
    yield f"<!-- not run: {_NOT_RUN} -->\n```bash\n{command}\n```"


def _machine(record: dict[str, Any]) -> str:
    about = record["session"]
    machine = about["gpu"] or f"{about['cpu']}, {about['cores']} cores"
    return f"{machine}, torch {about['versions']['torch']}"


def _shown(row: Row) -> list[str]:
    """The number of seeds, and each figure."""
    return [str(len(row.figures[0])), *map(_spread, row.figures)]


def _spread(found: list[Sequence[float]]) -> str:
    value, low, high = _summary(found)
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def _summary(found: list[Sequence[float]]) -> tuple[float, float, float]:
    """Of [value, low, high] by seed: the mean, and what the page says in brackets."""
    values = [value for value, _, _ in found]
    low, high = (min(values), max(values)) if len(found) > 1 else found[0][1:]
    return statistics.fmean(values), low, high


def _drawn(nets: list[Row], methods: list[Row]) -> bytes:
    """Two panels as a PNG: nets by products for an image, views of one joined; and methods by
    seconds of a training."""
    import io

    need("matplotlib", "plot", "the picture")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    panels = (
        (left, nets, [row.products for row in nets], "million products for an image"),
        (right, methods, [row.seconds for row in methods], "seconds of a training"),
    )
    for axes, rows, costs, label in panels:
        joined: dict[str, list[tuple[float, float]]] = {}
        for row, cost in zip(rows, costs, strict=True):
            value, low, high = _summary(row.figures[1])
            name = row.name.strip("`").partition(" ")[0]  # without its view
            joined.setdefault(name, []).append((cost, value))
            axes.errorbar(cost, value, [[value - low], [high - value]], fmt="o", color="#444")
        for name, points in joined.items():
            (cost, value), across, up = points[-1], *zip(*points, strict=True)
            axes.plot(across, up, color="#999", linewidth=1, zorder=0)
            short = name.partition(":")[0]
            axes.annotate(short, (cost, value), (4, 4), textcoords="offset points", fontsize=7)
        axes.set(xlabel=label, ylabel="mean -C error, %")
        # With room for the last name; a training may be too short to time.
        axes.set_xlim(0, 1.25 * max([*costs, 0.01]))
        axes.set_ylim(bottom=0)
    left.set_title("nets, by the standard training")
    right.set_title("methods")
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=150, metadata={"Software": None})
    return out.getvalue()
