"""What is judged, from stored scores: paired differences, mFR, bands and bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bench.bars import Bar
from experiments import score_files
from experiments.plan import FINE_TUNED, PAPER, REPEATED, STANDARD, UNDEFENDED
from experiments.score_files import SHIFT_FLIPS, WITHOUT_NOISE, Records
from hardy.errors import InputError
from hardy.metrics.stability import flip_rate, flips
from hardy.scores.paired_scores import ScoreDifference, compare_scores
from hardy.scores.score import Score, score_of

# Published for WRN-40-2 and 100 epochs, and the tolerance.
BANDS = {
    "band-standard": (27.0, 1.5),
    "band-augmix": (11.1, 1.0),
    "band-patch_gaussian": (17.0, 1.5),
}
# First and second: the difference is second − first, below 0 where the second is better.
PAIRS = (
    ("gauss_single", "ant"),
    ("gauss_single", "ant3x3"),
    ("ant", "ant3x3"),
    ("fine-gauss_single", "fine-ant"),
    ("fine-gauss_single", "fine-ant3x3"),
)
COMPARED = ("clean error", "mean error", WITHOUT_NOISE, "mFR")
# What a difference is one of: intervals are over test images, not over trainings.
ONE_SEED = "of these trainings, one seed each"
LONGEST_MINUTES, LARGEST_OUTSIDE, LARGEST_MIXING = 4.0, 0.1, 1.0


def baseline(record: Mapping[str, Any]) -> str:
    """The standard model of the same schedule, on the same images."""
    return UNDEFENDED if record["group"] == "defences" else STANDARD


def scores_of(name: str, records: Records) -> dict[str, Score]:
    """All that were kept, and the mFR against the standard model."""
    found = {entry["name"]: score_files.restore(entry) for entry in records[name]["scores"]}
    standard = records.get(baseline(records[name]))
    if standard is not None and flips.mean in found:
        theirs = {entry["name"]: score_files.restore(entry) for entry in standard["scores"]}
        if rate := mean_flip_rate(found, theirs):
            found["mFR"] = rate
    return found


def mean_flip_rate(ours: Mapping[str, Score], theirs: Mapping[str, Score]) -> Score | None:
    """100 times the mean over perturbations of our share of flips over theirs; none where one of
    theirs may be 0."""
    around = ours[flips.mean].circumstances
    labels = [flips.single_label(name) for name in around.names]
    pairs = [(ours[label], theirs[label]) for label in labels]
    for one, two in pairs:
        compare_scores(two, one)  # refuses what was not made alike
    if not all(two.value > 0 and two.replicates.min() > 0 for _, two in pairs):
        return None
    ratios = [one.value / two.value for one, two in pairs]
    spread = [one.replicates / two.replicates for one, two in pairs]
    return score_of(
        "mFR",
        100 * float(np.mean(ratios)),
        100 * np.mean(spread, axis=0),
        replace(around, reference=STANDARD),
        pairs[0][0].resampling,
        metric=flip_rate,
    )


def differences(records: Records) -> dict[tuple[str, str], dict[str, ScoreDifference]]:
    """Differences of every configuration to the standard one, and of the pairs in the paper."""
    groups = ("methods", "architecture", "repeats", "defences", "grid", FINE_TUNED)
    others = {name: record for name, record in records.items() if record.get("group") in groups}
    wanted = [(baseline(record), name) for name, record in others.items()]
    wanted = [(first, second) for first, second in wanted if first != second]
    found = {}
    for first, second in [*wanted, *PAIRS]:
        if first in records and second in records:
            if records[second].get("init_of") != first:  # it goes on where the first ended
                _check_schedules(records[first], records[second])
            one, two = scores_of(first, records), scores_of(second, records)
            names = [name for name in (*COMPARED, SHIFT_FLIPS) if name in one and name in two]
            found[first, second] = {name: compare_scores(one[name], two[name]) for name in names}
    return found


def repeated(records: Records, name: str) -> float:
    """How far the same training came out apart when it was repeated; a smaller difference between
    two others is no news, however narrow its interval over images."""
    pair = differences(records).get((STANDARD, REPEATED), {})
    return abs(pair[name].difference) if name in pair else 0.0


def _check_schedules(first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    unlike = [
        f"{key} {first['recipe'][key]} and {second['recipe'][key]}"
        for key in ("net", "epochs", "batch", "lr", "schedule", "precision")
        if first["recipe"][key] != second["recipe"][key]
    ]
    if unlike:
        raise InputError(
            f"expected one schedule for {first['name']} and {second['name']}, got "
            f"{'; '.join(unlike)}; give the table results of one --work"
        )


def judge(records: Records) -> list[Bar]:
    """What should hold, as far as it has been measured."""
    return [*_bands(records), *_pairs(records), *_attack(records), *_speed(records)]


def _bands(records: Records) -> Iterator[Bar]:
    for name, (published, width) in BANDS.items():
        if name in records:
            score = scores_of(name, records)["mean error"]
            what = f"{records[name]['method']}, {records[name]['recipe']['epochs']} epochs"
            yield Bar(
                f"{what}, one training, mean -C error within the published {published} ± {width} %",
                score.figure(),
                abs(score.value - published) <= width,
            )


def _pairs(records: Records) -> Iterator[Bar]:
    found = differences(records)
    for first, second in (PAIRS[0], (STANDARD, "ant"), ("fine-gauss_single", "fine-ant")):
        if (first, second) in found:
            one = found[first, second]["mean error"]
            holds = one.significant and one.difference < 0
            what = f"{second} better than {first}, {ONE_SEED}, mean -C error"
            yield Bar(what, one.figure(), holds)
    if (STANDARD, "antialias") in found:
        one = found[STANDARD, "antialias"][SHIFT_FLIPS]
        holds = one.significant and one.difference < 0
        what = f"anti-aliasing lowers the share of flips between shifts, {ONE_SEED}"
        yield Bar(what, one.figure(), holds)


def _attack(records: Records) -> Iterator[Bar]:
    for record in records.values():
        if record.get("group") == "attack" and record["model"] == STANDARD:
            difference, low, high = record["difference"]
            yield Bar(
                f"standard model, noise of norm {record['epsilon']:g}: accuracy under the "
                "generator's below that under Gaussian noise",
                f"{difference:+.1f} [{low:+.1f} to {high:+.1f}] points "
                f"({record['adversarial'][0]:.1f} % and {record['gaussian'][0]:.1f} %)",
                high < 0,
            )


def _speed(records: Records) -> Iterator[Bar]:
    """Bars of what ran alone: trainings may have shared the GPU with others."""
    if "speed" in records:
        speed = records["speed"]["speed"]
        epochs = PAPER["epochs"]
        minutes = epochs * speed["epoch"] / 60
        yield Bar(
            f"standard {speed['net']}, {epochs} epochs once compiled, in ≤ {LONGEST_MINUTES:g} "
            "minutes",
            f"{minutes:.2f}, in proportion to {speed['epochs']}", minutes <= LONGEST_MINUTES,
        )  # fmt: skip
        outside, mixing = speed["outside"], speed["augmix_mixing"] / speed["augmix_net"]
        yield Bar(f"share of time outside forward and backward ≤ {LARGEST_OUTSIDE:.0%}",
                  f"{outside:.1%}", outside <= LARGEST_OUTSIDE)  # fmt: skip
        yield Bar(f"AugMix's mixing ≤ {LARGEST_MIXING:g} × its net's own time", f"{mixing:.2f}",
                  mixing <= LARGEST_MIXING)  # fmt: skip
