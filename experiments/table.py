"""The page of results, and the same figures as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.table import grid
from experiments import compared, kept
from experiments.about import GROUPS, circumstances, listed, seen_by, source
from experiments.compared import COMPARED, PAIRS, differences, repeated, scores_of
from experiments.figures import figures
from experiments.kept import SHIFT_FLIPS, Records, validation_errors
from experiments.plan import (
    AMPLITUDES,
    REPEATED,
    SHIFT,
    SHIFT_PAIRS,
    STANDARD,
    UNDEFENDED,
    WEIGHTS,
    chosen,
    plan,
    stability,
)
from hardy.metrics import Comparison, Score
from hardy.scoring.seen import MARK, mark
from hardy.whole import whole_file

NAME = "cifar10"
# Of the common recipe: what differs from it stands among the settings.
USUAL = {"antialias": 1, "seed": 0}


def write(records: Records, out: Path) -> str:
    """`cifar10.md` and `cifar10.json`; returns the page."""
    order = [configuration.name for configuration in plan()]
    planned = {name: records[name] for name in order if name in records}
    records = {**planned, **records}
    text = page(records)
    out.mkdir(parents=True, exist_ok=True)
    with whole_file(out / f"{NAME}.md") as file:
        file.write(text.encode())
    kept.write(out / f"{NAME}.json", figures(records))
    return text


def page(records: Records) -> str:
    parts = [
        ["# Training methods on CIFAR-10", *circumstances(records)],
        [f"* {bar}" for bar in compared.judge(records)],
        *(
            section(records)
            for section in (_bands, _methods, _pairs, _defences, _choice, _grid, _speed, _missing)
        ),
    ]
    return "\n\n".join("\n".join(part) if part and part[0].startswith("*") else "\n\n".join(part)
                       for part in map(list, parts) if part) + "\n"  # fmt: skip


def _row(name: str, records: Records, columns: Iterable[str]) -> list[str]:
    scores, seen = scores_of(name, records), seen_by(records[name])
    shown = [scores.get(column) for column in columns]
    return [_figure(score) + (mark(score, seen) if score else "") for score in shown]


def _figure(score: Score | Comparison | None) -> str:
    return "-" if score is None else score.figure()


def _setting(record: Any) -> str:
    other = {k: v for k, v in record["recipe"].items() if v != USUAL.get(k, v)}
    return ", ".join(f"{name} {value}" for name, value in (record["settings"] | other).items())


def _bands(records: Records) -> Iterator[str]:
    rows = [
        [
            records[name]["method"],
            str(records[name]["recipe"]["epochs"]),
            f"{published} ± {width}",
            *_row(name, records, ("mean error", "error without noise", "clean error")),
        ]
        for name, (published, width) in compared.BANDS.items()
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


def _methods(records: Records) -> Iterator[str]:
    rows = [
        [
            name,
            _setting(record) or "-",
            ", ".join(seen_by(record)) or "-",
            *_row(name, records, COMPARED),
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
            f"{SHIFT} px get one answer, {SHIFT_PAIRS} pairs per test image. Mixing in stylised "
            "images (+SIN) is in no row: there was no stylised CIFAR-10, and making one takes a "
            "net for style transfer and pictures of paintings."
        )
        head = ["method", "settings", "seen", "clean error", "mean -C error", "without noise",
                "mFR", "shift consistency", "sources"]  # fmt: skip
        yield grid(head, rows)


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
        "Intervals are over test images, and none is widened for how many there are."
    )
    rows = [
        [f"{second} − {first}", *(_figure(each.get(name)) for name in COMPARED)]
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
                f"{verdict.capitalize()} the standard training in mean error, {compared.ONE_SEED}"
                f"{beyond}: {', '.join(names)}."
            )


def _reaches(one: Comparison, spread: float) -> bool:
    return one.interval.low <= spread and one.interval.high >= -spread


def _defences(records: Records) -> Iterator[str]:
    names = [name for name, record in records.items() if record.get("group") == "defences"]
    if not names:
        return
    found = differences(records)
    scores = scores_of(names[0], records)
    errors, flips = (scores[name].circumstances for name in ("mean error", "flip probability"))
    yield "## Defences at test time"
    yield (
        "Before the standard model, which is not trained for them, on fewer images, since some "
        f"take long: {errors}; mFR: {flips}. What adapts sees the test distribution, n images at a "
        "time beside N that its own statistics count for; images of one batch are not independent, "
        "as its intervals take them. mFR and differences are to the model without a defence."
    )
    rows = [
        [
            _defence(records[name]),
            *_row(name, records, COMPARED),
            _figure(found.get((UNDEFENDED, name), {}).get("mean error")),
        ]
        for name in names
    ]
    head = ["defence", "clean error", "mean -C error", "without noise", "mFR", "mean -C − none"]
    yield grid(head, rows)


def _defence(record: Any) -> str:
    name, _, setting = (record["defend"] or "none").partition(":")
    together = listed(record.get("adapts_in", ()))
    return f"{name} (adapts, N = {setting}, n = {together})" if together else name


def _choice(records: Records) -> Iterator[str]:
    tuned = {name: r for name, r in records.items() if r.get("group") == "tuning"}
    if not tuned:
        return
    epochs = listed(record["recipe"]["epochs"] for record in tuned.values())
    around = scores_of(next(iter(tuned)), records)["validation error"].circumstances
    yield "## The choice of σ and ε"
    yield (
        f"By the mean error under {', '.join(around.names)} alone, which count in no figure above, "
        f"but on the test images themselves ({around}), after trainings of {epochs} epochs that "
        "are used for nothing else. The candidates of ε are the norms of Gaussian noise with the "
        "candidates of σ before clipping: ε = σ · √3072. ant3x3 takes the ε of ant; gauss_mult and "
        "speckle take the σ of the benchmark's five severities at 32 px, as the paper does at 224."
    )
    errors = validation_errors(records)
    rows = [
        [
            record["method"],
            _setting(record),
            _figure(scores_of(name, records)["validation error"]),
            "chosen" if chosen(errors, record["method"]) in record["settings"].values() else "",
        ]
        for name, record in tuned.items()
    ]
    yield grid(["method", "setting", "validation error", ""], rows)


def _grid(records: Records) -> Iterator[str]:
    if not any(record.get("group") == "grid" for record in records.values()):
        return
    yield "## Stability training"
    yield (
        "Mean -C error over the paper's grid: noise uniform in ±u, weight of the stability term; "
        "behind it the sources."
    )
    found = differences(records)

    def cell(amplitude: float, weight: float, *, difference: bool) -> str:
        """Its middle is the training that stands among the methods."""
        for name, record in records.items():
            if record.get("settings") == stability(amplitude, weight):
                if difference:
                    return _figure(found.get((STANDARD, name), {}).get("mean error"))
                error = _figure(scores_of(name, records)["mean error"])
                return f"{error} {source(record, records)}"
        return "-"

    for what in ("error", "difference to standard"):
        rows = [
            [f"u = {u}", *(cell(u, weight, difference=what != "error") for weight in WEIGHTS)]
            for u in AMPLITUDES
        ]
        yield grid([what, *(f"weight {weight}" for weight in WEIGHTS)], rows)


def _speed(records: Records) -> Iterator[str]:
    if "speed" not in records:
        return
    found = records["speed"]["speed"]
    yield "## Speed"
    yield (
        f"Standard training, batch {found['batch']}, {found['precision']}: "
        f"{found['images_per_second']:,.0f} images/s, {found['epoch']:.2f} s per epoch (median of "
        f"{found['epochs']} after the first, which took {found['warm_up']:.0f} s with "
        f"compilation). A step takes {1000 * found['step']:.2f} ms, its forward and backward pass "
        f"alone, on a batch that is ready, {1000 * found['forward_backward']:.2f} ms: "
        f"{found['outside']:.1%} of the time is outside. AugMix mixes its two views in "
        f"{1000 * found['augmix_mixing']:.2f} ms, its net takes "
        f"{1000 * found['augmix_net']:.2f} ms for the three."
    )


def _missing(records: Records) -> Iterator[str]:
    missing = [c.name for c in plan() if c.name not in records]
    if missing:
        yield f"Not run: {', '.join(missing)}."
