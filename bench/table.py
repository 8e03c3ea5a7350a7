"""Results as plain text that is also Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.bars import Bar, mean_median

CRASHES = {"multichannel": "multichannel= is gone", "np.float_": "np.float_ is gone"}


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table padded so that it also reads well in a terminal."""
    widths = [max(3, *(len(row[k]) for row in (head, *rows))) for k in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = [row[0].ljust(widths[0])]
        padded += [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
    return "\n".join([line(head), line(rule), *map(line, rows)])


def published(outcome: str) -> str:
    """ "ok", or the crash in a few words."""
    if outcome == "ok":
        return outcome
    kind, _, text = outcome.partition(": ")
    known = [words for mark, words in CRASHES.items() if mark in text]
    return f"{kind}: {known[0] if known else text[:40]}"


def corruption_rows(results: dict[str, Any]) -> list[list[str]]:
    rows = []
    for name, row in results["cells"].items():
        mine, other = mean_median(row["hardy_ms"]), mean_median(row["peer_ms"])
        newest = mean_median(row["newest_ms"])
        rows.append(
            [
                name,
                f"{mine:.2f}",
                f"{max(spread['median'] for spread in row['hardy_ms']):.2f}",
                f"{mean_median(row['hardy_batch_ms']):.2f}",
                f"{other:.2f}",
                f"{other / mine:.1f}",
                f"{newest:.2f}",
                f"{newest / mine:.1f}",
                published(results["peer"]["as_published"][name]),
            ]
        )
    total, peer_total = results["sum75_ms"]["median"], results["peer_sum75_ms"]
    newest_total = results["newest_sum75_ms"]
    batch_total = sum(
        spread["median"]
        for name in results["counted"]
        for spread in results["cells"][name]["hardy_batch_ms"]
    )
    rows.append(
        [
            "sum of 15 x 5",
            f"{total:.1f}",
            "",
            f"{batch_total:.1f}",
            f"{peer_total:.0f}",
            f"{peer_total / total:.1f}",
            f"{newest_total:.0f}",
            f"{newest_total / total:.1f}",
            "",
        ]
    )
    return rows


def spread_rows(results: dict[str, Any]) -> list[list[str]]:
    """Median (quartiles) in ms per severity for every cell."""
    rows = []
    for name, row in results["cells"].items():
        for who in ("hardy_ms", "peer_ms", "newest_ms"):
            texts = [f"{s['median']:.2f} ({s['q1']:.2f}-{s['q3']:.2f})" for s in row[who]]
            rows.append([f"{name}, {who.removesuffix('_ms')}", *texts, f"{row[who][0]['n']:.0f}"])
    return rows


def process_rows(results: dict[str, Any]) -> list[list[str]]:
    return [
        [
            name,
            f"{results['first_call'][name]['median']:.2f}",
            f"{results['memory'][name]['growth_mb']:.0f}",
            f"{results['memory'][name]['peak_mb']:.0f}",
        ]
        for name in results["cells"]
    ]


def page(results: dict[str, Any], bars: Sequence[Bar]) -> str:
    """The whole report."""
    machine, versions = results["machine"], results["versions"]
    peer, unit = results["peer"], results["unit_ms"]
    return "\n".join(
        [
            "# hardy on a CPU, one thread",
            "",
            f"Machine: {machine['cpu']}, {machine['cores']} cores, load {machine['load']:.2f} at "
            f"the start. {', '.join(f'{name} {number}' for name, number in versions.items())}. "
            f"Commit {results['commit']}.",
            "",
            "Process-CPU milliseconds per image at 224 x 224, one process, one thread; medians of "
            f"interleaved repeats (n = {results['sum75_ms']['n']}, peer glass_blur "
            f"{results['cells']['glass_blur']['peer_ms'][0]['n']}), mean over severities 1-5. "
            "Each call takes the next of 512 distinct crops of real photos and an id never used "
            "before; drawing is inside the timed region; uint8 comes out. "
            f"CPU time over wall time of the run: {results['cpu_per_wall']:.2f}.",
            "",
            f"Peer: imagecorruptions {peer['version']} of {peer['released']} from PyPI, warm, "
            "patched from outside to run on these libraries (`bench/peer.py`). As published its "
            f"import: {peer['import']}. Newest: {peer['newest']}, as published.",
            "",
            grid(
                ["corruption", "hardy ms", "worst severity", "in batches of 8", "peer ms", "ratio",
                 "newest ms", "ratio", "peer as published"],
                corruption_rows(results),
            ),
            "",
            "## Bars",
            "",
            f"Unit: the peer's zoom_blur, mean over its severities, {unit['median']:.1f} ms "
            f"(quartiles {unit['q1']:.1f}-{unit['q3']:.1f}, n = {unit['n']}).",
            "",
            *(f"* {bar}" for bar in bars),
            "",
            "## Fresh processes",
            "",
            "First call: wall seconds from before `import hardy` to the first result (severity 5, "
            "disk cache warm). Memory for a batch of 64 at 224, severity 5: growth = highest "
            "resident size minus the resident size just before the batch was created (so batch and "
            "result are in it); peak = highest resident size of the whole process, interpreter and "
            "libraries included.",
            "",
            grid(["corruption", "first call s", "growth MB", "peak MB"], process_rows(results)),
            "",
            "## Every cell: median ms (quartiles)",
            "",
            grid(["severity", "1", "2", "3", "4", "5", "n"], spread_rows(results)),
            "",
        ]
    )  # fmt: skip
