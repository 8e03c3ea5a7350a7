"""`python -m experiments.nets`: which nets hold up, at equal cost, on CIFAR-10?

    run   train each net on CIFAR-10 and evaluate it on -C and C-bar; the same command resumes
    page  results/nets.md from what `run` wrote

Hendrycks and Dietterich, 2019, found at 224 px that multigrid nets and MSDNet, which see several
scales, and DenseNet and ResNeXt, which aggregate features, hold up better than ResNets of their
accuracy, and that CondenseNet holds up worse. Here each net does about as many products for an
image in training as WRN-40-2 (within a quarter), and has the same schedule.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hardy
from hardy.errors import HardyError, InputError, printable
from hardy.files import write_file
from hardy.store.provenance import session

SUITES = ("cifar10_c", "cifar10_c_bar")
CLEAN, MEAN = "clean error", "mean error"
NOT_RUN = "it trains all nets on a GPU"


@dataclass(frozen=True)
class Entry:
    """A net, what it stands for, and the ways in which it is evaluated."""

    name: str
    net: str
    shows: str
    views: tuple[str, ...] = ("",)


COMPARED = (
    Entry("wrn", "wrn_40_2", "reference"),
    Entry("r_mg", "r_mg_cifar:width=52", "several scales"),
    Entry("mg", "mg_cifar:units=2,width=56", "several scales"),
    Entry(
        "msdnet",
        "msdnet_cifar:channels=32,growth=14",
        "several scales, early exits",
        tuple(f":exit={number}" for number in range(1, 8)),
    ),
    Entry("densenet", "densenet_40:growth=13", "aggregation"),
    Entry("resnext", "resnext_29_4x32:base=12", "aggregation"),
    Entry("condensenet", "condensenet_86:growth=12", "condensing", ("", ":converted=yes")),
)


def run(
    entries: Iterable[Entry], work: Path, data: str, test: str, seeds: Iterable[int], **options: Any
) -> None:
    """Train and evaluate all of them; what has been written is left alone. `options` are those of
    `hardy.train` but `only` and `subset`, which are those of `hardy.evaluate`."""
    shown = {name: options.pop(name, None) for name in ("only", "subset")}
    for seed in seeds:
        for entry in entries:
            target = work / "results" / f"{entry.name}-{seed}.json"
            if target.exists():
                continue
            folder = work / "models" / f"{entry.name}-{seed}"
            trained = hardy.train(
                "standard", data=data, out=folder, net=entry.net, seed=seed, **options
            )
            rows = [_measured(folder, view, test, work, shown, options) for view in entry.views]
            weights, products = size(entry.net)
            record = {
                "name": entry.name,
                "net": entry.net,
                "shows": entry.shows,
                "seed": seed,
                "weights": weights,
                "products": products,
                "epochs": len(trained.log),
                "seconds": sum(row["seconds"] for row in trained.log),
                "rows": rows,
                "session": session(),
            }
            target.parent.mkdir(parents=True, exist_ok=True)
            write_file(target, json.dumps(record, indent=1).encode())
            print(f"{target.stem}: {rows[-1]}", flush=True)


def _measured(
    folder: Path,
    view: str,
    test: str,
    work: Path,
    shown: Mapping[str, Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Errors in percent, with the ends of their intervals over test images."""
    warnings: list[str] = []
    found: dict[str, Any] = {"view": view, "warnings": warnings}
    for suite in SUITES:
        done = hardy.evaluate(
            f"hardy:{folder}{view}",
            suite=suite,
            images=test,
            store=work / "runs",
            device=options.get("device") or "auto",
            warn=warnings.append,
            **{name: value for name, value in shown.items() if value is not None},
        )
        scores = done.score()
        for name in (CLEAN, MEAN):
            score = scores[name]
            found[f"{suite} {name}"] = [score.value, score.interval.low, score.interval.high]
    return found


def size(net: str) -> tuple[float, float]:
    """Millions of weights, and of products for an image of 32 px, by torch's own count."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from hardy.train.nets import make_net

    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        made = make_net(net, 10).eval()
        made(torch.zeros(1, 3, 32, 32))
    weights = sum(weight.numel() for weight in made.parameters())
    return weights / 1e6, counter.get_total_flops() / 2e6


def write_page(work: Path, out: Path) -> None:
    paths = sorted((work / "results").glob("*.json"))
    if not paths:
        raise InputError(f"expected results of `run` in {work}, got none; run it first")
    records = [json.loads(path.read_bytes()) for path in paths]
    write_file(out, "\n".join(_page(records)).encode())


def _page(records: list[dict[str, Any]]) -> Iterator[str]:
    first = records[0]
    about = first["session"]
    machine = about["gpu"] or f"{about['cpu']}, {about['cores']} cores"
    yield "# Nets at equal cost\n"
    yield (
        f"Each net was trained by `standard` on CIFAR-10 for {first['epochs']} epochs with the "
        f"usual recipe, on {machine}, torch {about['versions']['torch']}. Errors in percent. In "
        "brackets: of one seed, the 95 % interval over test images; of several, whose mean stands "
        "before it, the least and the largest. Weights and products in millions, "
        "products of one image of 32 px through the whole net, as it is trained.\n"
    )
    yield "| net | shows | weights | products | seeds | clean | -C | C̄ |"
    yield 8 * "|---" + "|"
    names = dict.fromkeys(record["name"] for record in records)
    for name in names:
        same = [record for record in records if record["name"] == name]
        for place, row in enumerate(same[0]["rows"]):
            head = same[0]
            figures = [
                _spread([record["rows"][place][key] for record in same])
                for key in (f"{SUITES[0]} {CLEAN}", *(f"{suite} {MEAN}" for suite in SUITES))
            ]
            sizes = f"{head['weights']:.2f} | {head['products']:.0f}"
            shown = f"| `{head['net']}{row['view'].replace(':', ' ')}` | {head['shows']} | {sizes} "
            yield shown + f"| {len(same)} | {' | '.join(figures)} |"
    yield f"\n<!-- not run: {NOT_RUN} -->"
    yield "```bash\npython -m experiments.nets run --work work --seeds 0 1 2"
    yield "python -m experiments.nets page --work work\n```\n"


def _spread(found: list[list[float]]) -> str:
    """The mean and what the page says in brackets, from [value, low, high] by seed."""
    values = [value for value, _, _ in found]
    low, high = (min(values), max(values)) if len(found) > 1 else found[0][1:]
    return f"{statistics.fmean(values):.1f} ({low:.1f} to {high:.1f})"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.nets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="names of nets")
    parser.add_argument("--data", default="cifar10:train")
    parser.add_argument("--test", default="cifar10:test")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("-o", "--out", type=Path, default=Path("results/nets.md"))
    options = parser.parse_args(words)
    try:
        if options.what == "page":
            write_page(options.work, options.out)
        else:
            chosen = [one for one in COMPARED if not options.only or one.name in options.only]
            run(
                chosen,
                options.work,
                options.data,
                options.test,
                options.seeds,
                epochs=options.epochs,
            )
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
