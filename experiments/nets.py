"""`python -m experiments.nets`: which nets and which methods hold up on CIFAR-10, and at what cost?

    study  all of it: the methods of `experiments.plan`'s study, then the nets, then the page
    run    the nets alone: train each and evaluate it on -C, C-bar and -P
    page   results/nets.md and nets.png from what the others wrote

The same command resumes. Hendrycks and Dietterich, 2019, found at 224 px that multigrid nets and
MSDNet, which see several scales, and DenseNet and ResNeXt, which aggregate features, hold up better
than ResNets of their accuracy, and that CondenseNet holds up worse. Here each net does about as
many products for an image in training as WRN-40-2 (within a quarter), and has the same schedule.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hardy
from experiments import nets_page
from experiments.nets_page import CLEAN, CONVERTED, EXIT, MAIN
from experiments.plan import STUDY
from hardy.errors import HardyError, printable
from hardy.files import write_file
from hardy.registry import unknown
from hardy.store.provenance import session
from hardy.train.run_folder import epochs_in

# How many test images a suite takes, if not all.
FEWER = {"cifar10_p": 2000}
# What of a suite is shown; all that counts in its mean, if nothing is said.
SHOWN: dict[str, list[str]] = {}
SEEDS = (0, 1, 2)


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
        tuple(f"{EXIT}{number}" for number in range(1, 8)),
    ),
    Entry("densenet", "densenet_40:growth=13", "aggregation"),
    Entry("resnext", "resnext_29_4x32:base=12", "aggregation"),
    Entry("condensenet", "condensenet_86:growth=12", "condensing", ("", CONVERTED)),
)


def run(
    entries: Iterable[Entry], work: Path, data: str, test: str, seeds: Iterable[int], **options: Any
) -> int:
    """Train and evaluate all of them; what has been written is left alone. How many failed, which
    costs the others nothing. `options` are those of `hardy.train`."""
    failed = 0
    for seed, entry in [(seed, entry) for seed in seeds for entry in entries]:
        target = work / "results" / f"{entry.name}-{seed}.json"
        if target.exists():
            continue
        try:
            record = _one(entry, seed, work, data, test, options)
        except Exception as error:  # whatever a net may do: the others can still be run
            failed += 1
            print(f"{target.stem}: failed: {error}\n{traceback.format_exc()}", flush=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        write_file(target, json.dumps(record, indent=1).encode())
        print(f"{target.stem}: {record['rows'][-1]}", flush=True)
    return failed


def _one(
    entry: Entry, seed: int, work: Path, data: str, test: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    folder = work / "models" / f"{entry.name}-{seed}"
    trained = hardy.train("standard", data=data, out=folder, net=entry.net, seed=seed, **options)
    device = options.get("device") or "auto"
    rows = [
        {"view": view, "products": products(entry.net, view)}
        | _measured(f"hardy:{folder}{view}", test, work / "runs", device)
        for view in entry.views
    ]
    epochs = epochs_in(trained.log)
    return {
        "name": entry.name,
        "net": entry.net,
        "shows": entry.shows,
        "seed": seed,
        "weights": weights(entry.net),
        "epochs": len(epochs),
        "seconds": sum(row["seconds"] for row in epochs),
        "rows": rows,
        "session": session(),
    }


def _measured(model: str, test: str, store: Path, device: str) -> dict[str, Any]:
    """Errors and flips in percent, with the ends of their intervals over test images."""
    warnings: list[str] = []
    found: dict[str, Any] = {"warnings": warnings}
    for suite, main_score in MAIN.items():
        done = hardy.evaluate(
            model,
            suite=suite,
            images=test,
            store=store,
            device=device,
            only=SHOWN.get(suite, ["counted"]),
            subset=FEWER.get(suite),
            warn=warnings.append,
        )
        scores = done.score()
        for name in {main_score, CLEAN} & {*scores}:
            score = scores[name]
            found[f"{suite} {name}"] = [score.value, score.interval.low, score.interval.high]
    return found


def weights(net: str) -> float:
    """Millions of them."""
    import torch

    from hardy.train.nets import make_net

    with torch.device("meta"):
        return sum(weight.numel() for weight in make_net(net, 10).parameters()) / 1e6


def products(net: str, view: str = "") -> float:
    """Millions of products for an image of 32 px, by torch's own count; up to an exit, or as
    converted, where the view says so."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from hardy.train.nets import make_net

    # What is condensed hangs on weights; the others need none.
    device = torch.device("cpu" if view == CONVERTED else "meta")
    with device:
        made = make_net(net, 10)
    if view == CONVERTED:
        made.at_share(1.0)
        made = made.eval().answering(converted=True)
    exits: list[tuple[int, int]] = []  # counted before and behind each
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        for exit in getattr(made, "classifiers", {}).values():
            exit.register_forward_pre_hook(lambda *_: exits.append((counter.get_total_flops(), 0)))
            exit.register_forward_hook(
                lambda *_: exits.append((exits.pop()[0], counter.get_total_flops()))
            )
        made.eval()(torch.zeros(1, 3, 32, 32, device=device))
    if not view.startswith(EXIT):
        return counter.get_total_flops() / 2e6
    number = int(view.removeprefix(EXIT))
    earlier = sum(behind - before for before, behind in exits[: number - 1])
    return (exits[number - 1][1] - earlier) / 2e6


def study(work: Path, options: argparse.Namespace) -> int:
    """The methods of the study by all their seeds, as `experiments.cifar10` runs them; how many
    failed."""
    from experiments import cifar10

    words = ["run", "--only", STUDY, "--work", str(work)]
    words += ["--data", options.data, "--test", options.test]
    words += ["--device", options.device or "auto", "--frames-images", str(FEWER["cifar10_p"])]
    return cifar10.main(words)


def main(words: list[str] | None = None) -> int:
    options = _parser().parse_args(words)
    try:
        known = {entry.name: entry for entry in COMPARED}
        for name in options.only or ():
            if name not in known:
                raise unknown("net", name, list(known))
        failed = 0
        if options.what == "study":
            failed += study(options.work / nets_page.METHODS, options)
        if options.what != "page":
            chosen = [known[name] for name in options.only or known]
            more = {"epochs": options.epochs, "device": options.device}
            failed += run(chosen, options.work, options.data, options.test, options.seeds, **more)
        if options.what != "run":
            nets_page.write(options.work, options.out)
            print(f"{options.out} has all that is there")
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    return min(failed, 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.nets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("study", "run", "page"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="names of nets")
    parser.add_argument("--data", default="cifar10:train")
    parser.add_argument("--test", default="cifar10:test")
    parser.add_argument("--device", help="the best there is, if left out")
    parser.add_argument("--epochs", type=int, default=100, help="of the nets")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, help="of the nets")
    parser.add_argument("-o", "--out", type=Path, default=Path("results/nets.md"))
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
