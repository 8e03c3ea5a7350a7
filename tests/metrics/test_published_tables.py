"""The published tables agree with each other as far as rounding allows, under our formulas."""

from __future__ import annotations

import numpy as np
import pytest

from hardy.metrics.classification import corruption_error, relative_corruption_error
from hardy.suites import load, published
from tests.metrics.rounding import Range, mean, printed, rounded

REFERENCE = load("imagenet_c").reference
assert REFERENCE is not None
NOISE = ("gaussian_noise", "shot_noise", "impulse_noise")

MEANS = [
    (name, row)
    for name in published.table_names()
    if published.load_table(name).mean
    for row in published.load_table(name).rows
]
FLAGGED = [
    (name, row)
    for name, row in MEANS
    for flag in published.load_table(name).flags
    if flag.inconsistent and (flag.row, flag.column) == (row, published.load_table(name).mean)
]


def row_mean(name: str, row: str) -> tuple[Range, Range]:
    table = published.load_table(name)
    entries = [printed(table.rows[row][entry]) for entry in table.entries]
    assert table.mean is not None
    return mean(entries), printed(table.rows[row][table.mean])


@pytest.mark.parametrize(("name", "row"), [pair for pair in MEANS if pair not in FLAGGED])
def test_the_entries_of_a_row_average_to_its_printed_mean(name: str, row: str) -> None:
    ours, theirs = row_mean(name, row)
    assert ours.meets(theirs), f"{ours} against {theirs}"


def test_exactly_the_rows_of_the_fact_sheet_are_flagged() -> None:
    assert FLAGGED == [("iclr_flip_rate", "VGG-19+BN")]
    ours, theirs = row_mean("iclr_flip_rate", "VGG-19+BN")
    assert not ours.meets(theirs)


def test_a_wrong_mean_would_be_noticed() -> None:
    ours, theirs = row_mean("ant_ce", "ANT")
    assert not (ours + 0.02).meets(theirs)
    assert not (ours - 0.02).meets(theirs)


NETWORKS = list(published.load_table("iclr_ce").rows)


def relative_ce(network: str, corruption: str) -> Range:
    """Table 2 from Table 1. The reference's errors are known to six digits."""
    row = published.load_table("iclr_ce").rows[network]
    reference = rounded(100 * REFERENCE.errors[corruption], 4)
    reference_clean = rounded(100 * REFERENCE.clean_error, 1)
    if network == "AlexNet":  # the same rounded clean error above and below cancels
        return (printed(row[corruption]) / 100 * reference - reference) / (
            reference - reference_clean
        ) * 100 + 100
    error = printed(row[corruption]) / 100 * reference
    return (error - printed(row["clean error"])) / (reference - reference_clean) * 100


@pytest.mark.parametrize("network", NETWORKS)
def test_table_2_follows_from_table_1(network: str) -> None:
    table = published.load_table("iclr_relative_ce")
    row = table.rows[network]
    derived = {name: relative_ce(network, name) for name in table.entries}
    apart = [name for name in derived if not derived[name].meets(printed(row[name]))]
    assert apart == []
    assert mean(derived.values()).meets(printed(row["relative mCE"]))


@pytest.mark.parametrize("network", NETWORKS)
def test_our_formula_lies_inside_those_ranges(network: str) -> None:
    """At the printed values themselves, so that the ranges above test the code and not a copy."""
    table = published.load_table("iclr_ce")
    row = table.rows[network]
    ce = np.array([row[name].value for name in table.entries]) / 100  # type: ignore[union-attr]
    reference = np.array([REFERENCE.errors[name] for name in table.entries])
    clean = row["clean error"].value / 100  # type: ignore[union-attr]
    ours = relative_corruption_error(ce * reference, clean, reference, REFERENCE.clean_error)
    for name, value in zip(table.entries, 100 * ours, strict=True):
        low, high = relative_ce(network, name)
        assert low <= value <= high


LOGS = published.load_table("ant_top1")


@pytest.mark.parametrize("model", list(LOGS.rows))
def test_the_ant_logs_give_their_mce_to_two_decimals(model: str) -> None:
    row = LOGS.rows[model]
    errors = [1 - row[name].value / 100 for name in LOGS.entries]  # type: ignore[union-attr]
    reference = [REFERENCE.errors[name] for name in LOGS.entries]
    ce = 100 * corruption_error(errors, reference)
    theirs = published.load_table("ant_ce").rows[model]
    assert f"{ce.mean():.2f}" == theirs["mCE"].text  # type: ignore[union-attr]
    for name, value in zip(LOGS.entries, ce, strict=True):
        error = Range(100, 100) - printed(row[name])
        allowed = error / rounded(REFERENCE.errors[name], 6)
        assert allowed.meets(printed(theirs[name]))
        assert allowed.low <= value <= allowed.high


@pytest.mark.parametrize("model", list(LOGS.rows))
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("ant_top1", "mean accuracy without noise"),
        ("ant_top5", "mean top-5 accuracy without noise"),
    ],
)
def test_the_ant_logs_without_noise(name: str, column: str, model: str) -> None:
    table = published.load_table(name)
    row = table.rows[model]
    rest = [printed(row[entry]) for entry in table.entries if entry not in NOISE]
    assert mean(rest).meets(printed(row[column]))


def test_the_ant_summary_rounds_the_logs() -> None:
    logs, summary = published.load_table("ant_ce").rows, published.load_table("ant_summary").rows
    for log, line in zip(logs.values(), list(summary.values())[: len(logs)], strict=True):
        assert printed(log["mCE"]).meets(printed(line["mCE"]))


@pytest.mark.parametrize(
    ("name", "base"), [("cbar_imagenet", "ImageNet-C error"), ("cbar_cifar10", "CIFAR-10-C error")]
)
def test_the_difference_to_the_first_benchmark(name: str, base: str) -> None:
    table = published.load_table(name)
    contradicted = {flag.row for flag in table.flags if flag.inconsistent}
    for method, row in table.rows.items():
        gap = printed(row["mean error"]) - printed(row[base])
        assert gap.meets(printed(row["delta"])) == (method not in contradicted), method


def test_flip_reference_agrees_with_the_quoted_network() -> None:
    """ResNet-18 on scale is quoted with flip probability 15.6 and distance 3.6."""
    flips = load("imagenet_p").flips
    assert flips is not None
    rate = printed(published.load_table("iclr_flip_rate").rows["ResNet-18"]["scale"]) / 100
    distance = printed(published.load_table("iclr_top5_distance").rows["ResNet-18"]["scale"]) / 100
    assert (rate * rounded(100 * flips.flips["scale"], 2)).meets(rounded(15.6, 1))
    assert (distance * rounded(flips.top5_distance["scale"], 2)).meets(rounded(3.6, 1))
