"""Sections of the page beside the methods: further training, defences, noise learned against the
nets, the choice of settings, and speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.table import grid
from experiments.circumstances import figure, listed, row, setting, source
from experiments.comparisons import COMPARED, differences, scores_of
from experiments.plan import ATTACKED, FINE_TUNED, STANDARD, UNDEFENDED, chosen
from experiments.score_files import AGAIN, Records, has_other_rounds, validation_errors


def fine_tuned(records: Records) -> Iterator[str]:
    names = [name for name, record in records.items() if record.get("group") == FINE_TUNED]
    if not names:
        return
    found = differences(records)
    recipe = records[names[0]]["recipe"]
    yield "## On from a trained net"
    yield (
        "Rusak et al. train with noise on from a trained net, not from fresh weights. "
        f"Here it is the net of the standard training, for {recipe['epochs']} more epochs, with a "
        f"learning rate of {recipe['lr']} falling by {recipe['schedule']} and a weight decay of "
        f"{recipe['weight_decay']:g}; σ and ε are the same. How the others differ from the first "
        "is said above."
    )
    rows = [
        [
            name,
            setting(records[name]),
            *row(name, records, COMPARED),
            figure(found.get((STANDARD, name), {}).get("mean error")),
        ]
        for name in names
    ]
    head = ["method", "settings", "clean error", "mean -C error", "without noise", "mFR",
            f"mean -C − {STANDARD}"]  # fmt: skip
    yield grid(head, rows)


def defences(records: Records) -> Iterator[str]:
    names = [name for name, record in records.items() if record.get("group") == "defences"]
    if not names:
        return
    found = differences(records)
    scores = scores_of(names[0], records)
    errors, flips = (scores[name].circumstances for name in ("mean error", "flip probability"))
    yield "## Defences at test time"
    yield (
        "The defences stand before the standard model, which is not trained for them, and see "
        f"fewer images, because some take long: {errors}; mFR: {flips}. A defence that adapts sees "
        "the test distribution: n images at a time, beside N for which the model's own statistics "
        "count. Its intervals take images for independent, which those of one batch are not. mFR "
        "and differences are to the model without a defence."
    )
    rows = [
        [
            _defence(records[name]),
            *row(name, records, COMPARED),
            figure(found.get((UNDEFENDED, name), {}).get("mean error")),
        ]
        for name in names
    ]
    head = ["defence", "clean error", "mean -C error", "without noise", "mFR", "mean -C − none"]
    yield grid(head, rows)


def _defence(record: Mapping[str, Any]) -> str:
    name, _, setting = (record["defend"] or "none").partition(":")
    together = listed(record.get("adapts_in", ()))
    return f"{name} (adapts, N = {setting}, n = {together})" if together else name


def noise(records: Records) -> Iterator[str]:
    by_model = {r["model"]: r for r in records.values() if r.get("group") == "attack"}
    found = [by_model[name] for name in ATTACKED if name in by_model]
    if not found:
        return
    first = found[0]
    yield "## Noise learned against the nets"
    yield (
        f"A new generator ({first['noise']}) against each, fitted in {first['steps']:,} steps on "
        f"training images; noise of L2 norm {first['epsilon']:g}, pixels in 0..1. The share of "
        f"{first['images']:,} test images that are right without noise, under Gaussian noise of "
        "that norm, and under the learned one; and the median of the smallest norm of learned "
        "noise that makes the answer wrong. 95 % intervals over images (docs/adversarial-noise.md)."
    )
    rows = [
        [
            record["model"],
            *(_ranged(record[name], " %") for name in ("clean", "gaussian", "adversarial")),
            _ranged(record["difference"], sign="+"),
            _ranged(record["median_distance"], digits=2),
        ]
        for record in found
    ]
    head = ["net", "clean", "Gaussian", "learned", "learned − Gaussian", "median distance"]
    yield grid(head, rows)


def _ranged(measured: Sequence[float], unit: str = "", *, sign: str = "", digits: int = 1) -> str:
    value, low, high = (f"{one:{sign}.{digits}f}" for one in measured)
    return f"{value}{unit} [{low} to {high}]"


def choice(records: Records) -> Iterator[str]:
    tuned = {name: r for name, r in records.items() if r.get("group") == "tuning"}
    if not tuned:
        return
    epochs = listed(record["recipe"]["epochs"] for record in tuned.values())
    around = scores_of(next(iter(tuned)), records)["validation error"].circumstances
    told = (
        " Other rounds of the same trainings, by the sources that stand in the same order, chose "
        "nothing: they show how much of the choice is chance."
    )
    yield "## The choice of σ and ε"
    yield (
        f"σ and ε were chosen by the mean error under {', '.join(around.names)} alone, which count "
        f"in no figure above, but on the test images themselves ({around}), after trainings of "
        f"{epochs} epochs that are used for nothing else. The candidates of ε are the "
        "norms of Gaussian noise with the candidates of σ before clipping: ε = σ · √3072. ant3x3 "
        "takes the ε of ant; gauss_mult and speckle take the σ of the benchmark's five severities "
        "at 32 px, as the paper does at 224." + (told if has_other_rounds(records) else "")
    )
    errors = validation_errors(records)
    rows = []
    for name, record in tuned.items():
        rounds = [name, *(one for one in records if one.startswith(name + AGAIN))]
        figures = [figure(scores_of(one, records)["validation error"]) for one in rounds]
        is_chosen = chosen(errors, record["method"]) in record["settings"].values()
        rows.append(
            [
                record["method"],
                setting(record),
                ", ".join(figures),
                "chosen" if is_chosen else "",
                ", ".join(source(records[one], records) for one in rounds),
            ]
        )
    yield grid(["method", "setting", "validation error", "", "sources"], rows)


def speed(records: Records) -> Iterator[str]:
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
