"""The GPU's figures judged, and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.bars import Bar
from bench.table import grid
from hardy.suites import load

BAR_MEAN, BAR_SLOWEST, BAR_STORED, BAR_SMALL = 200_000, 50_000, 120_000, 3_000_000
BAR_ON, BAR_OFF, BAR_MINUTES, BAR_GB = 1.3, 1.2, 4.0, 6.0
BAR_C_BAR = 60_000
IMAGENET, CELLS = 50_000, 76
C, C_BAR = "imagenet_c", "imagenet_c_bar"


def harmonic_mean(rates: list[float]) -> float:
    return len(rates) / sum(1 / rate for rate in rates)


def counted(measured: dict[str, Any], what: str, suite: str = C) -> list[float]:
    """The cells that count, 75 of ImageNet-C."""
    return [rate for name in load(suite).counted for rate in measured["cells"][name][what]]


def slowest(measured: dict[str, Any], suite: str = C) -> tuple[float, str]:
    return min(
        (rate, f"{name} {severity}")
        for name in load(suite).counted
        for severity, rate in enumerate(measured["cells"][name]["rate"], 1)
    )


def forward(row: dict[str, Any]) -> float:
    return sum(row["forward"]) / len(row["forward"])


def judge(results: dict[str, Any]) -> list[Bar]:
    return [
        *_judge_bytes(results),
        *_judge_cells(results),
        *_judge_c_bar(results),
        *_judge_evaluation(results),
    ]


def _judge_bytes(results: dict[str, Any]) -> Iterator[Bar]:
    if "parity" not in results:
        return
    rows = results["parity"].values()
    compared, differ = sum(r["compared"] for r in rows), sum(len(r["differ"]) for r in rows)
    yield Bar(
        "the CPU engine's bytes", f"{compared - differ} of {compared} comparisons", not differ
    )


def _judge_cells(results: dict[str, Any]) -> Iterator[Bar]:
    if "cells" not in results:
        return
    large, small = results["cells"]["224"], results["cells"]["cifar"]
    mean, least = harmonic_mean(counted(large, "rate")), slowest(large)
    stored, tiny = harmonic_mean(counted(large, "stored")), harmonic_mean(counted(small, "rate"))
    peak = max(row["peak"] for row in large["cells"].values())
    yield Bar(
        f"images/s at 224, harmonic mean of 75 cells ≥ {BAR_MEAN:,}", f"{mean:,.0f}",
        mean >= BAR_MEAN,
    )  # fmt: skip
    yield Bar(f"slowest cell ≥ {BAR_SLOWEST:,}", f"{least[0]:,.0f} ({least[1]})",
              least[0] >= BAR_SLOWEST)  # fmt: skip
    yield Bar(f"with jpeg:85 on top ≥ {BAR_STORED:,}", f"{stored:,.0f}", stored >= BAR_STORED)
    yield Bar(f"images/s at 32 ≥ {BAR_SMALL:,}", f"{tiny:,.0f}", tiny >= BAR_SMALL)
    yield Bar(f"GB for {large['count']:,} at 224 ≤ {BAR_GB:g}", f"{peak:.2f}", peak <= BAR_GB)


def _judge_c_bar(results: dict[str, Any]) -> Iterator[Bar]:
    if "c_bar" not in results:
        return
    measured = results["c_bar"]
    mean, least = harmonic_mean(counted(measured, "rate", C_BAR)), slowest(measured, C_BAR)
    peak = max(row["peak"] for row in measured["cells"].values())
    yield Bar(
        f"ImageNet-C̄, images/s at 224, harmonic mean of 50 cells ≥ {BAR_C_BAR:,}",
        f"{mean:,.0f}; slowest {least[0]:,.0f} ({least[1]})", mean >= BAR_C_BAR,
    )  # fmt: skip
    yield Bar(
        f"ImageNet-C̄, GB for {measured['count']:,} at 224 ≤ {BAR_GB:g}", f"{peak:.2f}",
        peak <= BAR_GB,
    )  # fmt: skip


def _judge_evaluation(results: dict[str, Any]) -> Iterator[Bar]:
    """Every run of all images, the newest first; the worst decides."""
    rows = [row for row in results.get("evaluation", [])[::-1] if row["images"] == IMAGENET]
    for step, bar in (("on", BAR_ON), ("off", BAR_OFF)):
        runs = [row for row in rows if row[step] is not None]
        ratios = [row[step] / forward(row) for row in runs]
        told = [f"{ratio:.3f} at {row['commit']}" for ratio, row in zip(ratios, runs, strict=True)]
        what = f"{IMAGENET:,} images × {CELLS}, storage step {step}, ≤ {bar} × forward"
        if runs:
            yield Bar(what, "; ".join(told), max(ratios) <= bar)
    runs = [row for row in rows if row["on"] is not None]
    told = [f"{row['on'] / 60:.2f} at {row['commit']}" for row in runs]
    what = f"the whole of ImageNet-C in ≤ {BAR_MINUTES:g} minutes"
    if runs:
        yield Bar(what, "; ".join(told), max(row["on"] for row in runs) <= 60 * BAR_MINUTES)


def page(results: dict[str, Any], bars: list[Bar]) -> str:
    host, libraries = results["machine"], results["versions"]
    lines = [
        "# hardy on a GPU",
        "",
        f"Machine: {host['gpu']} ({host['gpu_memory'] / 1e9:.0f} GB), CUDA {host['cuda']}; "
        f"{host['cpu']}, {host['cores']} cores. Python {host['python']}, "
        f"{', '.join(f'{name} {number}' for name, number in libraries.items())}. "
        f"Commits: {', '.join(f'{what} {number}' for what, number in results['commits'].items())}.",
        "",
        *(f"* {bar}" for bar in bars),
        "",
        *_bytes(results),
        *_rates(results),
        *_peers(results),
        *_evaluation(results),
    ]
    return "\n".join(lines)


def _bytes(results: dict[str, Any]) -> Iterator[str]:
    if "parity" not in results:
        return
    yield "## Bytes\n"
    yield (
        f"Against the CPU engine on another machine ({results['reference']}), on crops of "
        "photographs with mixed 64-bit ids: every corruption and severity of each edition, the "
        "storage step, and four frames of every sequence of two images. Each comparison is of the "
        "few images that the table names, some smaller than the edition's own.\n"
    )
    rows = [
        [
            chosen,
            "{} of {} × {}".format(*row["images"]),
            f"{row['compared'] - len(row['differ'])} of {row['compared']}",
            f"{row['values']:,}",
        ]
        for chosen, row in results["parity"].items()
    ]  # fmt: skip
    yield grid(["edition", "images", "identical", "values compared"], rows) + "\n"
    for chosen, row in results["parity"].items():
        yield from (f"* {chosen}, {cell}: {note}\n" for cell, note in row["differ"].items())


def _rates(results: dict[str, Any]) -> Iterator[str]:
    tables = [(C, "Thousand", measured) for measured in results.get("cells", {}).values()]
    if "c_bar" in results:
        tables.append((C_BAR, "ImageNet-C̄, thousand", results["c_bar"]))
    for suite, title, measured in tables:
        side, count, copy = measured["side"], measured["count"], measured["copy"]
        least = 2 * 3 * side**2
        yield f"## {title} images/s at {side} × {side}\n"
        yield (
            f"{count:,} images at a time, 1,024 of them distinct crops of photographs, all ids "
            "distinct; draws inside the timed region, uint8 read and written; median of 5, by the "
            f"device's events. A plain copy of the batch runs at {copy / 1000:,.0f} thousand/s, "
            f"{copy * least / 1e12:.2f} TB/s read and written; of copy is the share of that "
            "which the mean over severities reaches, counting each image read once and written "
            f"once. The storage step alone: {measured['jpeg'] / 1000:,.0f}. GB is the most memory "
            "in use, batch and result included.\n"
        )
        rows = []
        for name, row in measured["cells"].items():
            numbers = [f"{rate / 1000:,.0f}" for rate in row["rate"]]
            mean, stored = harmonic_mean(row["rate"]), harmonic_mean(row["stored"])
            rows.append([name, *numbers, f"{mean / copy:.1%}", f"{stored / 1000:,.0f}",
                         f"{row['peak']:.2f}"])  # fmt: skip
        rates = counted(measured, "rate", suite)
        total, stored = harmonic_mean(rates), harmonic_mean(counted(measured, "stored", suite))
        rows.append([f"harmonic mean of {len(rates)}", f"{total / 1000:,.0f}", "", "", "", "",
                     f"{total / copy:.1%}", f"{stored / 1000:,.0f}", ""])  # fmt: skip
        head = ["severity", "1", "2", "3", "4", "5", "of copy", "with jpeg:85", "GB"]
        yield grid(head, rows) + "\n"


def _peers(results: dict[str, Any]) -> Iterator[str]:
    if "peers" not in results or "cells" not in results:
        return
    peers, mine = results["peers"], results["cells"]["224"]["cells"]
    yield "## Others\n"
    yield (
        "What other libraries have on a GPU that resembles a corruption, on the same batch, uint8 "
        "in and out, thousand images/s; Hardy at severity 3. Theirs are not the benchmark's "
        "formulas, most draw once for the whole batch, and the rest of ImageNet-C is not in them: "
        "this says what such work takes elsewhere, no more.\n"
    )
    names = [name for name in mine if any(name in peer["rates"] for peer in peers.values())]
    rows = [
        [name, f"{mine[name]['rate'][2] / 1000:,.0f}",
         *(_told(peer["rates"].get(name)) for peer in peers.values())]
        for name in names
    ]  # fmt: skip
    head = ["like", "hardy", *(f"{name} {peer['version']}" for name, peer in peers.items())]
    yield grid(head, rows) + "\n"


def _told(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    if "error" in row:
        reasons = {"CPU tensor": "CPU only", "no memory": "no memory"}
        known = [reason for mark, reason in reasons.items() if mark in row["error"]]
        return f"- ({known[0] if known else 'fails'})"
    return f"{row['rate'] / 1000:,.1f}" + ("" if row["at"] == 1024 else f" ({row['at']} at a time)")


def _evaluation(results: dict[str, Any]) -> Iterator[str]:
    if "evaluation" not in results:
        return
    warm_ups = [row["warm_up"] for row in results["evaluation"]]
    took = " to ".join(dict.fromkeys(f"{end(warm_ups):.0f}" for end in (min, max)))
    yield "## A model on ImageNet-C\n"
    yield (
        "torchvision's ResNet-50, random weights, bfloat16 by autocast, torch.compile, batches "
        "of 256, by `hardy.evaluate` from a uint8 array (N, 224, 224, 3) in host memory to a "
        "closed store of predictions: wall time of 15 × 5 cells and the clean images, once "
        f"everything is compiled (which took {took} s). 1,024 crops are distinct, repeated under "
        "other ids. Forward alone: the same compiled model on as many batches that lie on the "
        "GPU, normalised; mean of a run before and one after, of 4,096 images, in proportion. "
        "The evaluation also resizes and hashes each image, checks the model's normalisation, "
        "reduces logits, writes Parquet and keeps the worst images. The bars are for "
        f"{IMAGENET:,} images, so rows of fewer are not judged: what happens once weighs more "
        "there.\n"
    )
    rows = []
    for row in results["evaluation"]:
        on, off, alone = row["on"], row["off"], forward(row)
        both = [["-", "-"] if s is None else [f"{s:.1f}", f"{s / alone:.3f}"] for s in (on, off)]
        rate = row["images"] * CELLS / (off if on is None else on)
        rows.append([f"{row['images']:,}", f"{alone:.1f}", *both[0], *both[1], f"{rate:,.0f}",
                     f"{row['peak']:.1f}", row["commit"]])  # fmt: skip
    head = ["images", "forward s", "with jpeg:85 s", "ratio", "without s", "ratio", "images/s",
            "GB", "commit"]  # fmt: skip
    yield grid(head, rows) + "\n"
