"""The page of results, and the same figures as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.table import grid
from experiments import score_files
from experiments.circumstances import (
    GROUPS,
    circumstances,
    commands,
    figure,
    row,
    seen_by,
    setting,
    source,
)
from experiments.comparisons import (
    BANDS,
    COMPARED,
    ONE_SEED,
    PAIRS,
    differences,
    judge,
    repeated,
    scores_of,
)
from experiments.plan import (
    AMPLITUDES,
    REPEATED,
    SHIFT,
    SHIFT_PAIRS,
    STANDARD,
    STUDY,
    STYLISED,
    TUNED,
    WEIGHTS,
    chosen,
    plan,
    stability,
)
from experiments.score_files import C_BAR_MEAN, SHIFT_FLIPS, Records, validation_errors
from experiments.sections import choice, defences, fine_tuned, noise, speed
from hardy.files import whole_file
from hardy.scores.paired_scores import ScoreDifference
from hardy.scores.score import MARK, Score

NAME = "cifar10"


def write(records: Records, out: Path) -> str:
    """`cifar10.md` and `cifar10.json`; returns the page."""
    order = [configuration.name for configuration in plan()]
    planned = {name: records[name] for name in order if name in records}
    records = {**planned, **records}
    text = page(records)
    out.mkdir(parents=True, exist_ok=True)
    with whole_file(out / f"{NAME}.md") as file:
        file.write(text.encode())
    score_files.write(out / f"{NAME}.json", figures(records))
    return text


def page(records: Records) -> str:
    parts = ["# Training methods on CIFAR-10", *circumstances(records)]
    if bars := [f"* {bar}" for bar in judge(records)]:
        parts.append("\n".join(bars))
    for section in (
        *(_bands, _study, _methods, _pairs, fine_tuned, defences, noise, choice, _grid, speed),
        *(_missing, commands),
    ):
        parts += section(records)
    return "\n\n".join(parts) + "\n"


def _bands(records: Records) -> Iterator[str]:
    rows = [
        [
            records[name]["method"],
            str(records[name]["recipe"]["epochs"]),
            f"{published} ± {width}",
            *row(name, records, ("mean error", "error without noise", "clean error")),
        ]
        for name, (published, width) in BANDS.items()
        if name in records
    ]
    if rows:
        yield "## The paper's schedule"
        yield (
            "AugMix's recipe for WRN-40-2, one training each. Band: the published mean -C error ± "
            "the tolerance."
        )
        head = ["method", "epochs", "band", "mean -C error", "without noise", "clean error"]
        yield grid(head, rows)


def _study(records: Records) -> Iterator[str]:
    columns = ("clean error", "mean error", C_BAR_MEAN, "flip probability")
    rows = [
        [
            name.removeprefix(f"{STUDY}-").partition("-seed")[0],
            str(record["recipe"]["seed"]),
            ", ".join(seen_by(record)) or "-",
            *row(name, records, columns),
            source(record, records),
        ]
        for name, record in records.items()
        if record.get("group") == STUDY
    ]
    if rows:
        yield "## Newer methods under the paper's schedule"
        yield (
            "WRN-40-2, 100 epochs, a row for each training. afa+NAME shows views of NAME beside "
            f"its waves. {MARK} marks figures that count a corruption that training images show."
        )
        head = ["method", "seed", "seen", "clean error", "mean -C error", "mean -C̄ error",
                "flip probability", "sources"]  # fmt: skip
        yield grid(head, rows)


def _methods(records: Records) -> Iterator[str]:
    rows = [
        [
            name,
            setting(record) or "-",
            ", ".join(seen_by(record)) or "-",
            *row(name, records, COMPARED),
            _consistency(scores_of(name, records).get(SHIFT_FLIPS)),
            source(record, records),
        ]
        for name, record in records.items()
        if record.get("group") in (*GROUPS, "repeats")
    ]
    if rows:
        yield "## Methods and architectures"
        yield (
            f"Seen: corruptions and perturbations that training images show; {MARK} marks figures "
            "that count one. Shift consistency: how often two random shifts by up to "
            f"{SHIFT} px get one answer, {SHIFT_PAIRS} pairs per test image. {_stylised(records)}"
        )
        head = ["method", "settings", "seen", "clean error", "mean -C error", "without noise",
                "mFR", "shift consistency", "sources"]  # fmt: skip
        yield grid(head, rows)


def _stylised(records: Records) -> str:
    if STYLISED not in records:
        return f"Stylised images, which `{STYLISED}` mixes in, are in no row yet."
    return (
        f"`{STYLISED}` takes a fifth of each batch from images that `hardy stylise` made: by "
        "AdaIN, as Stylized-ImageNet was, and of other images and pictures."
    )


def _consistency(flips: Score | None) -> str:
    if flips is None:
        return "-"
    half = (flips.interval.high - flips.interval.low) / 2
    return f"{100 - flips.value:.2f} ± {half:.2f} %"


def _pairs(records: Records) -> Iterator[str]:
    found = differences(records)
    kinds = {name: records[name].get("group") for _, name in found}
    chosen_pairs = {
        pair: each
        for pair, each in found.items()
        if pair in PAIRS or kinds[pair[1]] in (*GROUPS, "repeats")
    }
    if not chosen_pairs:
        return
    yield "## Differences"
    yield (
        "The first named less the second, on the same images: below 0 the first named is better. "
        "Intervals are over test images. They are not widened for the number of comparisons."
    )
    rows = [
        [f"{second} − {first}", *(figure(each.get(name)) for name in COMPARED)]
        for (first, second), each in chosen_pairs.items()
    ]
    yield grid(["pair", "clean error", "mean -C error", "without noise", "mFR"], rows)
    spread = repeated(records, "mean error")
    beyond = f", beyond the {spread:.1f} points that its repetition is off" if spread else ""
    against = {
        second: each["mean error"]
        for (first, second), each in chosen_pairs.items()
        if first == STANDARD and second != REPEATED
    }
    for verdict, fits in (
        ("better than", lambda one: one.significant and one.interval.high < -spread),
        ("worse than", lambda one: one.significant and one.interval.low > spread),
        ("not told apart from", lambda one: not one.significant or _reaches(one, spread)),
    ):
        names = [name for name, one in against.items() if fits(one)]
        if names:
            yield (
                f"{verdict.capitalize()} the standard training in mean error, {ONE_SEED}"
                f"{beyond}: {', '.join(names)}."
            )


def _reaches(one: ScoreDifference, spread: float) -> bool:
    return one.interval.low <= spread and one.interval.high >= -spread


def _grid(records: Records) -> Iterator[str]:
    if not any(record.get("group") == "grid" for record in records.values()):
        return
    yield "## Stability training"
    yield (
        "Mean -C error over the paper's grid: noise uniform in ±u, weight of the stability term. "
        "The letter behind a figure names its source."
    )
    found = differences(records)

    def cell(amplitude: float, weight: float, *, difference: bool) -> str:
        """Its middle is the training that stands among the methods."""
        for name, record in records.items():
            if record.get("settings") == stability(amplitude, weight):
                if difference:
                    return figure(found.get((STANDARD, name), {}).get("mean error"))
                error = figure(scores_of(name, records)["mean error"])
                return f"{error} {source(record, records)}"
        return "-"

    for what in ("error", "difference to standard"):
        rows = [
            [f"u = {u}", *(cell(u, weight, difference=what != "error") for weight in WEIGHTS)]
            for u in AMPLITUDES
        ]
        yield grid([what, *(f"weight {weight}" for weight in WEIGHTS)], rows)


def _missing(records: Records) -> Iterator[str]:
    missing = [c.name for c in plan() if c.name not in records]
    if missing:
        yield f"Not run: {', '.join(missing)}."


def figures(records: Records) -> dict[str, Any]:
    """All of it without replicates and logs."""

    def plain(name: str) -> dict[str, Any]:
        left_out = ("scores", "log", "format", "name")
        about = {key: value for key, value in records[name].items() if key not in left_out}
        if "method" in about:  # what was recorded may be older, and the page says the same
            about["seen_corruptions"] = list(seen_by(about))
        if "scores" in records[name]:
            found = scores_of(name, records).values()
            about["scores"] = {score.name: _numbers(score) for score in found}
        return about

    return {
        "records": {name: plain(name) for name in records},
        "differences": [
            {"first_run": first, "second_run": second, **one.as_dict()}
            for (first, second), each in differences(records).items()
            for one in each.values()
        ],
        "bars": [{"what": b.what, "figures": b.figures, "holds": b.holds} for b in judge(records)],
        "chosen": {method: chosen(validation_errors(records), method) for method in TUNED},
    }


def _numbers(score: Score) -> dict[str, Any]:
    return {"value": score.value, "low": score.interval.low, "high": score.interval.high,
            "unit": score.unit, "circumstances": str(score.circumstances)}  # fmt: skip
