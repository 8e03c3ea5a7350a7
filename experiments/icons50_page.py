"""The page of `experiments.icons50`, results/icons50.md, and a picture of what was confused."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.table import grid
from hardy.errors import InputError, need
from hardy.files import write_file
from hardy.images.icons50.collection import RECORD_NAME
from hardy.images.icons50.icon_tables import SETS, class_names
from hardy.metrics import Resampling, resample_means
from hardy.metrics.intervals import percentile_interval

UNSEEN, SEEN = "accuracy", "clean accuracy"
FREE = SETS[0]  # what is taken where no set is named
NOT_RUN = "it trains all nets on a GPU"
# What the others are compared with, and the styles that the draft reports of it, in percent.
BASE = "wrn"
DRAFT = {"microsoft": "55 %", "apple": "more than 90 %"}
_PAIRS = 10  # of classes that are listed as confused

Record = Mapping[str, Any]
Records = Sequence[Record]
# Icons, epochs, seeds and styles that one command names.
Block = tuple[str, int, tuple[int, ...], tuple[str, ...]]


def write(work: Path, out: Path, originals: Mapping[str, int]) -> None:
    """`originals` says of a net how many times as many epochs as others it has in the original."""
    paths = sorted((work / "results").glob("*.json"))
    if not paths:
        raise InputError(f"expected results of `run` in {work}, got none; run it first")
    records = [json.loads(path.read_bytes()) for path in paths]
    records.sort(key=lambda one: (one["name"] != BASE, one["method"] != "standard", one["name"]))
    picture = out.with_suffix(".png")
    _draw_confused(_confused(records), picture)
    write_file(out, "\n\n".join(_page(records, picture.name, originals)).encode() + b"\n")


def _page(records: Records, picture: str, originals: Mapping[str, int]) -> Iterator[str]:
    styles = sorted({record["style"] for record in records})
    yield "# Icons of a style that was not seen"
    yield _circumstances(records)
    yield from _accuracies(records, styles, originals)
    yield from _differences(records, styles)
    yield from _draft(records)
    yield "## What was confused"
    yield f"![Which class was taken for which other one]({picture})"
    yield "Most often, all nets and styles together:"
    yield grid(
        ("class", "taken for", "times"),
        [
            (kind, other, f"{times:,}")
            for (kind, other), times in _confused(records).most_common(_PAIRS)
        ],
    )
    yield "## The commands"
    yield f"<!-- not run: {NOT_RUN} -->\n{_commands(records)}"


def _circumstances(records: Records) -> str:
    sessions = [record["session"] for record in records]
    machines = _listed(one["gpu"] or f"{one['cpu']}, {one['cores']} cores" for one in sessions)
    torches = _listed(f"torch {one['versions']['torch']}" for one in sessions)
    days = _listed(sorted(one["started"][:10] for one in sessions))
    return (
        f"{_listed(record['icons'] for record in records)}, styles held out one at a time. "
        f"{len(records)} nets were trained, by SGD with the recipe of Icons-50's code, but that "
        f"images are normalised. {machines}, {torches}, {days}. Several trainings ran side by "
        "side. One that is run again with the same seed comes out a little differently, since "
        "kernels are chosen by trying them."
    )


def _accuracies(
    records: Records, styles: Sequence[str], originals: Mapping[str, int]
) -> Iterator[str]:
    epochs = _usual_epochs(records)
    about = f"Nets are trained for {epochs} epochs, or for as many as their row says."
    for name, times in originals.items():
        found = {record["epochs"] for record in records if record["name"] == name}
        if times != 1 and found and found != {times * epochs}:
            told = _listed(sorted(found))
            about += (
                f" The original gives {_title_of(records, name)} {times} times as many as the "
                f"others; here it has {told}."
            )
    yield "## Accuracy"
    yield (
        f"On the style that was held out, in percent. {about} A figure is the mean of the seeds, "
        "± half of its 95 % interval over icons; in brackets the least and the largest of several "
        "seeds, or that there was one. The mean over styles stands where all of them were run."
    )
    names = list(dict.fromkeys(record["name"] for record in records))
    head = ("net, method", *styles, "mean")
    rows = []
    for name in names:
        same = [record for record in records if record["name"] == name]
        cells = [_cell([one for one in same if one["style"] == style]) for style in styles]
        rows.append((_described(same, epochs), *cells, _mean(same, styles, UNSEEN)))
    yield grid(head, rows)
    yield (
        "And on icons of seen styles that were held out too, in percent: what a net knows of icons "
        "at all."
    )
    rows = []
    for name in names:
        same = [record for record in records if record["name"] == name]
        cells = [_mean([one for one in same if one["style"] == s], [s], SEEN) for s in styles]
        rows.append((_described(same, epochs), *cells, _mean(same, styles, SEEN)))
    yield grid(head, rows)


def _usual_epochs(records: Records) -> int:
    return statistics.mode(int(record["epochs"]) for record in records)


def _described(same: Records, epochs: int) -> str:
    others = sorted({record["epochs"] for record in same} - {epochs})
    longer = f", {_listed(others)} epochs" if others else ""
    return f"`{same[0]['net']}`, {same[0]['method']}{longer}"


def _title_of(records: Records, name: str) -> str:
    return next(f"`{record['net']}`" for record in records if record["name"] == name)


def _cell(some: Records) -> str:
    if not some:
        return "—"
    values = [record[UNSEEN][0] for record in some]
    low, high = _interval([(record, None) for record in some])
    spread = f"{min(values):.1f} to {max(values):.1f}" if len(some) > 1 else "one seed"
    return f"{statistics.fmean(values):.1f} ± {(high - low) / 2:.1f} ({spread})"


def _mean(some: Records, styles: Iterable[str], score: str) -> str:
    """Over styles, of the means over their seeds."""
    by_style = [[one[score][0] for one in some if one["style"] == style] for style in styles]
    return f"{statistics.fmean(map(statistics.fmean, by_style)):.1f}" if all(by_style) else "—"


def _differences(records: Records, styles: Sequence[str]) -> Iterator[str]:
    """What a net or method gains on the base, of the same styles and seeds."""
    base = {(one["style"], one["seed"]): one for one in records if one["name"] == BASE}
    rows = []
    for name in dict.fromkeys(record["name"] for record in records if record["name"] != BASE):
        same = [record for record in records if record["name"] == name]
        pairs = [
            (record, base[key])
            for record in same
            if (key := (record["style"], record["seed"])) in base
        ]
        if pairs:
            cells = [_gain([pair for pair in pairs if pair[0]["style"] == one]) for one in styles]
            rows.append(
                (_described(same, _usual_epochs(records)), *cells, _gain(pairs), str(len(pairs)))
            )
    if rows:
        yield "## What helps"
        yield (
            f"Points of accuracy on the held-out style above {_title_of(records, BASE)} of the "
            "same style and seed, with 95 % intervals over icons, which know nothing of how far "
            "another seed would move them. Behind the styles, all pairs of trainings together, "
            "each counting as much."
        )
        yield grid(("net, method", *styles, "together", "pairs"), rows)


def _gain(pairs: Sequence[tuple[Record, Record | None]]) -> str:
    if not pairs:
        return "—"
    gains = [one[UNSEEN][0] - other[UNSEEN][0] for one, other in pairs if other is not None]
    low, high = _interval(pairs)
    return f"{statistics.fmean(gains):+.1f} [{low:+.1f} to {high:+.1f}]"


def _interval(pairs: Sequence[tuple[Record, Record | None]]) -> tuple[float, float]:
    """Of the mean over trainings of their accuracy, or of what it is above another's, in percent:
    95 % over icons, all images of one in all trainings drawn together."""
    parts, icons, middle = [], [], 0.0
    for record, other in pairs:
        tallies = record["by_icon"]
        images, right = np.array(list(tallies.values())).T
        if other is not None:
            right = right - [other["by_icon"][icon][1] for icon in tallies]
        mean = right.sum() / images.sum()
        middle += 100 * mean / len(pairs)
        # Of each image, so that all trainings count as much: 0 in the mean over all of them.
        apart = (right / images - mean) * 100 / images.sum() / len(pairs)
        parts.append(np.repeat(apart, images))
        icons += [icon for icon, (count, _) in tallies.items() for _ in range(count)]
    values = np.concatenate(parts)
    _, clusters = np.unique(icons, return_inverse=True)
    how = Resampling(clusters=clusters.astype(np.int64))
    low, high = percentile_interval(resample_means(len(values) * values[:, None], how)[:, 0])
    return middle + low, middle + high


def _draft(records: Records) -> Iterator[str]:
    """How far the figures of the draft are from ours, and why."""
    base = [record for record in records if record["name"] == BASE]
    if not base:
        return
    yield "## Beside the draft"
    told = []
    for style, theirs in DRAFT.items():
        ours = [record[UNSEEN][0] for record in base if record["style"] == style]
        found = f"{statistics.fmean(ours):.1f} % here" if ours else "not among these icons"
        told.append(f"{theirs} on {style.capitalize()} ({found})")
    yield (
        f"The draft reports of WRN-16-4 with dropout {' and '.join(told)}. These are other "
        "drawings, so neither is a target: its microsoft is the Windows 10 icons with thick black "
        "outlines, which no registry has, and Icons-50-R's is Fluent, in three dimensions, flat "
        "and in high contrast; its other styles, which are what is learned, have Samsung, LG, HTC, "
        "WhatsApp and emojidex, too. Apple's drawings may not be passed on, and are in no set that "
        "is free."
    )


def _commands(records: Records) -> str:
    """That repeat these trainings, and no others."""
    sets = {title: _set_in(title) for title in sorted({record["icons"] for record in records})}
    fetched = [
        "hardy fetch icons50" + ("" if one == FREE else f" --set {one} --accept-licences")
        for one in sorted(filter(None, sets.values()), key=lambda one: (one != FREE, one))
    ]
    runs = []
    for (icons, epochs, seeds, styles), names in _blocks(records).items():
        where = f"icons50:{sets[icons]}" if sets[icons] else icons
        words = ["python -m experiments.icons50 run --work work --only", *names]
        words += [] if sets[icons] == FREE else ["--icons", where]
        words += ["--styles", *styles, "--seeds", *map(str, seeds)]
        runs.append(" ".join([*words, f"--epochs {epochs} --same-epochs"]))
    last = "python -m experiments.icons50 page --work work"
    return "\n".join(["```bash", *fetched, *runs, last, "```"])


def _set_in(title: str) -> str | None:
    """The set whose title it is; None for a folder of the original's."""
    name, _, found = title.partition(" ")
    return found if name == RECORD_NAME else None


def _blocks(records: Records) -> dict[Block, list[str]]:
    """The nets that were trained on all combinations of the same styles and seeds, by these."""
    seeds: dict[tuple[str, str, int, str], list[int]] = {}
    for record in records:
        key = (record["name"], record["icons"], record["epochs"], record["style"])
        seeds.setdefault(key, []).append(record["seed"])
    styles: dict[tuple[str, str, int, tuple[int, ...]], list[str]] = {}
    for (name, icons, epochs, style), some in seeds.items():
        styles.setdefault((name, icons, epochs, tuple(sorted(some))), []).append(style)
    names: dict[Block, list[str]] = {}
    for (name, icons, epochs, same), some in styles.items():
        names.setdefault((icons, epochs, same, tuple(sorted(some))), []).append(name)
    return names


def _listed(found: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, found)))


def _confused(records: Records) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for record in records:
        for kind, other, times in record["confused"]:
            found[kind, other] += times
    return found


def _draw_confused(confused: Counter[tuple[str, str]], target: Path) -> None:
    """A matrix: a row per class, a column per answer, the darker the more often."""
    figures = need("matplotlib.figure", "plot", "a picture of what was confused")
    names = class_names()
    matrix = np.zeros((len(names), len(names)))
    for (kind, other), times in confused.items():
        matrix[names.index(kind), names.index(other)] = times
    figure = figures.Figure(figsize=(11, 11), layout="constrained")
    axes = figure.subplots()
    shown = axes.imshow(np.sqrt(matrix), cmap="Greys")
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel("answer")
    axes.set_ylabel("class")
    figure.colorbar(shown, shrink=0.6, label="square root of how often")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=100, metadata={"Software": None})
