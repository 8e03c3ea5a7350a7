"""Figures on the pages are those that the benchmarks and experiments measured."""

from __future__ import annotations

import re

from tests.pages import README, page

SPEED = page("docs/speed.md")
TRAINING = page("docs/training.md")


def test_the_speed_on_a_cpu() -> None:
    measured = page("bench/results/cpu.md")
    total = re.search(
        r"^\| sum of 15 x 5 +\| +([\d.]+) \| +\| +[\d.]+ \| +(\d+)", measured, re.MULTILINE
    )
    small = re.search(r"on one core: (\d+)/s; peer (\d+)/s", measured)
    glass = re.search(r"^\| glass_blur +\|(?: +[\d.]+ \|){3} +([\d.]+)", measured, re.MULTILINE)
    assert total
    assert small
    assert glass
    ours, theirs, its_glass = float(total[1]), int(total[2]), float(glass[1])
    assert f"**{ours:.0f} ms** | {theirs:,} ms ({theirs - 5 * its_glass:.0f} without" in SPEED
    assert f"**{ours:.0f} ms** | {theirs:,} ms, imagecorruptions" in README
    for text in (SPEED, README):
        assert f"**{round(int(small[1]), -2):,}** | {int(small[2]):,}" in text


def test_the_speed_on_a_gpu() -> None:
    text = SPEED.replace("\n", " ")
    gpu = page("bench/results/gpu.md")

    def measured(pattern: str) -> list[float]:
        found = re.search(pattern, gpu)
        assert found, pattern
        return [float(figure.replace(",", "")) for figure in found.groups()]

    (mean,) = measured(r"harmonic mean of 75 cells ≥ 200,000: ([\d,]+)")
    (stored,) = measured(r"with jpeg:85 on top ≥ 120,000: ([\d,]+)")
    (small,) = measured(r"images/s at 32 ≥ 3,000,000: ([\d,]+)")
    (slowest,) = measured(r"slowest cell ≥ 50,000: ([\d,]+) \(defocus_blur 5")
    (c_bar,) = measured(r"harmonic mean of 50 cells ≥ 60,000: ([\d,]+)")
    (ratio,) = measured(r"50,000 images × 76, storage step on, ≤ 1.3 × forward: ([\d.]+)")
    (minutes,) = measured(r"ImageNet-C in ≤ 4 minutes: ([\d.]+) at ")
    (short,) = measured(r"\| 8,192 +\| +[\d.]+ \| +[\d.]+ \| +([\d.]+)")
    (forward,) = measured(r"\| 50,000 +\| +([\d.]+) \|")
    (share,) = measured(r"harmonic mean of 75 .*?([\d.]+)%")
    (compared,) = measured(r"PASS  the CPU engine's bytes: 524 of (\d+) comparisons")
    ours, theirs = measured(r"## Others(?s:.*?)\| contrast +\| +([\d,]+) \| +([\d.]+) \|")
    for words in (
        f"harmonic mean of the 75 cells | {round(mean, -3):,.0f} |",
        f"`jpeg:85` on top | {round(stored, -3):,.0f} |",
        f"at 32 × 32 | {small / 1e6:.1f} million |",
        f"in {minutes:.1f} minutes, which is {ratio:.2f} times its forward passes",
        f"ImageNet-C̄, images a second at 224 × 224 | {round(c_bar, -3):,.0f} |",
        f"the slowest cell, defocus_blur 5 | {round(slowest, -3):,.0f} |",
        f"all {round(compared)} comparisons",
        f"Contrast is only {ours / theirs:.1f} times as fast as torchvision's",
        f"{share:.0f} % of what a plain copy",
        f"({short:.2f} times the forward passes with 8,192 images)",
    ):
        assert words in text, words
    assert f"**{round(mean, -3):,.0f}**" in README
    assert f"**{minutes:.1f} minutes** | {forward / 60:.1f}, its forward passes" in README


def test_the_speed_of_other_suites() -> None:
    measured = page("bench/results/suites.md")
    whole = re.search(r"of one photo ≤ 1000 ms: ([\d.]+) ms", measured)
    slowest = re.search(r"≤ 2 ms: slowest (\w+) ([\d.]+) ms", measured)
    assert whole
    assert slowest
    assert f"All ten at five severities take {float(whole[1]):.0f} ms" in page("docs/c-bar.md")
    assert f"The slowest, `{slowest[1]}`, takes {slowest[2]} ms" in page("docs/noc.md")


def test_the_published_trainings() -> None:
    measured = page("results/cifar10.md")
    here, published = [], []
    for name in ("standard", "patch_gaussian", "augmix"):
        row = re.search(rf"^\| {name} +\| +100 \| +([\d.]+) ± [\d.]+ \| +([^|]+%)", measured, re.M)
        assert row, name
        published.append(f"{row[1]} %")
        here.append(row[2])
        assert f"| {row[2]} | {row[1]} %, published |" in README
    assert f"| here | {' | '.join(here)} |" in TRAINING
    assert f"| published | {' | '.join(published)} |" in TRAINING


def test_what_is_said_about_methods() -> None:
    measured = page("results/cifar10.md")
    text = re.sub(r"\n +", " ", TRAINING).replace("\n", " ")

    def row(name: str, head: str) -> list[str]:
        part = measured.partition(f"## {head}\n")[2].partition("\n## ")[0]
        found = re.search(rf"^\| {re.escape(name)} +\|(.*)\|$", part, re.M)
        assert found, name
        return [cell.strip().removesuffix(" %") for cell in found[1].split("|")]

    gain = row("ant − standard", "Differences")[1].removeprefix("-")
    assert f"`ant` is {gain} points better than the standard training" in text
    noise = row("ant − gauss_single", "Differences")[1]
    assert f"and better than plain Gaussian noise ({noise})" in text
    fine, fine3x3 = (
        row(f"fine-{name} − fine-gauss_single", "Differences")[1] for name in ("ant", "ant3x3")
    )
    assert f"it ends higher ({fine}), and `ant3x3` about level ({fine3x3})" in text
    _, gaussian, learned, *_ = row("standard", "Noise learned against the nets")
    words = "leaves {} % right, Gaussian noise of the same norm {} %"
    assert words.format(*(cell.partition(" %")[0] for cell in (learned, gaussian))) in text
    best = row("u = 0.1", "Stability training")[-1].rpartition(" ")[0]  # less its sources
    assert f"({best} at its best)" in text
    apart = row("standard-again − standard", "Differences")[1].removeprefix("-").partition(" ")[0]
    assert f"came out {apart} points apart when it was repeated" in text
    *_, flips, adapted = row("bn_adapt (adapts, N = 16, n = 64)", "Defences at test time")
    often = float(flips.partition(" ")[0]) / 100
    assert f"batch norm that adapts gains {adapted.removeprefix('-')} points" in text
    assert f"flip {often:.1f} times as often" in text
    assert "CLAHE, non-local means, a median and ten crops lose." in text
    for loses in ("clahe", "nlm", "median", "tencrop"):
        assert row(loses, "Defences at test time")[-1].startswith("+")
