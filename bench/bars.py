"""The figures that are judged, from raw milliseconds, and the judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.timing import SEVERITIES, Cell, Spread

UNITS = 0.4
CELL_SHARE = 45
TIMES_FASTER = 2
CODEC = "jpeg_compression"  # most of it is libjpeg-turbo, here as there
CIFAR_RATE = 8000
THREAD_SHARE = 0.95
IMPORT_SECONDS = 0.5
FIRST_SECONDS = 1.0
MEMORY_MB = 400
NOT_EAGER = ("torch", "numba")


@dataclass(frozen=True)
class Bar:
    """One requirement, what was measured, and whether it holds."""

    what: str
    figures: str
    holds: bool

    def __str__(self) -> str:
        return f"{'PASS' if self.holds else 'FAIL'}  {self.what}: {self.figures}"


def summarise(raw: dict[str, Any], counted: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Medians per cell, and the headline paired within each repeat.

    One repeat holds a hardy time for each of the 75 cells and a peer zoom_blur time for each
    severity, taken within seconds of each other; their ratio cancels the drift of the machine.
    """
    mine: dict[Cell, list[float]] = raw["hardy"]
    other: dict[Cell, list[float]] = raw["peer"]
    repeats = range(len(mine[counted[0], 1]))
    units = [
        sum(other["zoom_blur", severity][repeat] for severity in SEVERITIES) / len(SEVERITIES)
        for repeat in repeats
    ]
    sums = [
        sum(mine[name, severity][repeat] for name in counted for severity in SEVERITIES)
        for repeat in repeats
    ]

    def per_severity(times: dict[Cell, list[float]], name: str) -> list[dict[str, float]]:
        return [Spread.of(times[name, severity]).as_dict() for severity in SEVERITIES]

    return {
        "unit_ms": Spread.of(units).as_dict(),
        "sum75_ms": Spread.of(sums).as_dict(),
        "sum75_units": Spread.of([a / b for a, b in zip(sums, units, strict=True)]).as_dict(),
        "peer_sum75_ms": sum_of_medians(other, counted),
        "newest_sum75_ms": sum_of_medians(raw["newest"], counted),
        "codec_ms": per_severity(raw["codec"], CODEC),
        "cells": {
            name: {
                "hardy_ms": per_severity(mine, name),
                "hardy_batch_ms": per_severity(raw["batch"], name),
                "peer_ms": per_severity(other, name),
                "newest_ms": per_severity(raw["newest"], name),
            }
            for name in names
        },
        "cifar": {name: spread.as_dict() for name, spread in raw["cifar"].items()},
        "cpu_per_wall": raw["cpu_per_wall"],
    }


def sum_of_medians(times: dict[Cell, list[float]], names: Sequence[str]) -> float:
    return sum(Spread.of(times[name, severity]).median for name in names for severity in SEVERITIES)


def times_faster(row: dict[str, Any]) -> float:
    """How many times the time of hardy the faster one of the peers takes."""
    peers = min(mean_median(row["peer_ms"]), mean_median(row["newest_ms"]))
    return peers / mean_median(row["hardy_ms"])


def mean_median(spreads: Sequence[dict[str, float]]) -> float:
    """Mean over severities of the medians."""
    return sum(spread["median"] for spread in spreads) / len(spreads)


def ranked_cells(results: dict[str, Any]) -> list[tuple[float, str, int]]:
    """(milliseconds, corruption, severity) of hardy's single calls, the slowest first."""
    return sorted(
        (
            (spread["median"], name, severity)
            for name, row in results["cells"].items()
            for severity, spread in zip(SEVERITIES, row["hardy_ms"], strict=True)
        ),
        reverse=True,
    )


def judge(results: dict[str, Any]) -> list[Bar]:
    """Every bar with its figures."""
    unit = results["unit_ms"]["median"]
    headline = results["sum75_units"]
    slowest = ranked_cells(results)
    limit = unit / CELL_SHARE
    above = [cell for cell in slowest if cell[0] > limit]
    shown = ", ".join(
        f"{name}:{severity} {ms:.2f} ms" for ms, name, severity in above or slowest[:3]
    )
    least = sorted(
        (times_faster(row), name) for name, row in results["cells"].items() if name != CODEC
    )
    rates, ratio = results["cifar"], results["threads"]["ratio"]
    eager = [name for name in results["import"]["modules"] if name in NOT_EAGER]
    seconds = results["import"]["seconds"]["median"]
    late = max(results["first_call"].items(), key=lambda item: item[1]["median"])
    big = max(results["memory"].items(), key=lambda item: item[1]["peak_mb"])
    grown = max(row["growth_mb"] for row in results["memory"].values())
    return [
        Bar(
            f"all 75 corrupted images of a photo within {UNITS} peer zoom_blur",
            f"{headline['median']:.3f} units, quartiles {headline['q1']:.3f}-{headline['q3']:.3f}, "
            f"n={headline['n']}; {results['sum75_ms']['median']:.1f} ms against {unit:.1f} ms",
            headline["median"] <= UNITS,
        ),
        Bar(
            f"none of the {len(slowest)} cells above 1/{CELL_SHARE} unit = {limit:.2f} ms",
            f"{len(above)} above; {'these' if above else 'slowest'}: {shown}",
            not above,
        ),
        Bar(
            f"at least {TIMES_FASTER} times as fast as the faster peer, but for {CODEC}",
            f"least: {', '.join(f'{name} {ratio:.1f}' for ratio, name in least[:3])}; {CODEC} "
            f"{times_faster(results['cells'][CODEC]):.1f}, where hardy takes "
            f"{mean_median(results['cells'][CODEC]['hardy_ms']):.2f} ms and OpenCV's bare "
            f"libjpeg-turbo {mean_median(results['codec_ms']):.2f} ms",
            least[0][0] >= TIMES_FASTER,
        ),
        Bar(
            f"CIFAR size, batches of 64: at least {CIFAR_RATE} images/s on one core",
            f"{rates['hardy']['median']:.0f}/s; peer {rates['peer']['median']:.0f}/s "
            f"({rates['peer_without_glass']['median']:.0f}/s without its glass_blur)",
            rates["hardy"]["median"] >= CIFAR_RATE,
        ),
        Bar(
            f"two threads reach {THREAD_SHARE:.0%} of two processes",
            f"{ratio['median']:.1%}, quartiles {ratio['q1']:.1%}-{ratio['q3']:.1%}, "
            f"n={ratio['n']}; "
            + ", ".join(
                f"{kind} {results['threads'][kind]['median']:.0f}/s"
                for kind in ("one", "threads", "processes")
            ),
            ratio["median"] >= THREAD_SHARE,
        ),
        Bar(
            f"import hardy below {IMPORT_SECONDS} s, without {' or '.join(NOT_EAGER)}",
            f"{seconds:.3f} s; loads {', '.join(results['import']['modules']) or 'nothing heavy'}",
            seconds < IMPORT_SECONDS and not eager,
        ),
        Bar(
            f"import and first call in a fresh process, warm disk cache, below {FIRST_SECONDS} s",
            f"worst {late[0]} {late[1]['median']:.2f} s; "
            f"gaussian_noise {results['first_call']['gaussian_noise']['median']:.2f} s",
            late[1]["median"] < FIRST_SECONDS,
        ),
        Bar(
            f"peak memory of the whole process, batch of 64 at 224, below {MEMORY_MB} MB",
            f"worst {big[0]} {big[1]['peak_mb']:.0f} MB; most growth by the call {grown:.0f} MB",
            big[1]["peak_mb"] < MEMORY_MB,
        ),
    ]
