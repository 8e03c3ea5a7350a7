"""`python -m experiments.icons50`: what do nets know of a style that they have not seen?

    run   train each net without each style of a set of Icons-50-R, with several seeds, and test it
          on that style; the same command resumes. Several may share a work folder, if each has
          nets, styles or seeds of its own
    page  results/icons50.md and a picture of what was confused, from what `run` wrote

Five nets of the code of Icons-50 with its recipe, and WRN-16-4 by methods that help against
corruptions. Made for a GPU; `hardy fetch icons50` brings the icons.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

import hardy
from experiments import icons50_page
from experiments.runs import MOST_COMPILED
from hardy.errors import HardyError, InputError, printable
from hardy.files import write_file
from hardy.images.icons50.icon_parts import icon_name, open_icons
from hardy.images.icons50.icon_tables import class_names
from hardy.progress import untracked
from hardy.registry import unknown
from hardy.store.provenance import session
from hardy.suites.cells import IS_CLEAN

SUITE = "icons50_style"
_RECIPE = {"weight_decay": 1e-4, "lr": 0.1, "batch": 128}


@dataclass(frozen=True)
class Contender:
    """A net, and the method that it is trained by."""

    name: str
    net: str
    method: str = "standard"
    times: int = 1  # as many epochs as the others: the original has 500 for Shake-Shake, of 50


_WIDE = "wrn_16_4:dropout=0.3"
CONTENDERS = (
    Contender("wrn", _WIDE),
    Contender("resnext", "resnext_29_8x32_slim"),
    Contender("shake", "shake_shake_26", times=10),
    Contender("resnet", "resnet_20"),
    Contender("densenet", "densenet_40_b"),
    Contender("wrn_augmix", _WIDE, "augmix"),
    Contender("wrn_hybrid", _WIDE, "hybrid_augment"),
    Contender("wrn_pix_mix", _WIDE, "pix_mix"),
)


def run(
    contenders: Iterable[Contender],
    work: Path,
    icons: str,
    seeds: Iterable[int],
    styles: Iterable[str] = (),
    epochs: int = 50,
    at_most: float = float("inf"),
    **options: Any,
) -> None:
    """Train and test all of them, seed by seed; what has been written is left alone. Nothing is
    begun that would, by the last one of its net, not be finished within `at_most` seconds.
    `options` are those of `hardy.train`."""
    began, took = time.monotonic(), dict[str, float]()
    source, title = open_icons(icons)
    chosen = list(styles) or sorted({icon_name(file).style for file in source.files})
    # What is compiled serves all nets of one shape; torch would give up on the ninth.
    torch._dynamo.config.recompile_limit = MOST_COMPILED
    every = [(seed, one, style) for seed in seeds for one in contenders for style in chosen]
    todo = [(*which, _asked(*which, epochs, title), _target(work, *which)) for which in every]
    for *_, asked, target in todo:
        _check_same(asked, target)
    for seed, one, style, asked, target in todo:
        if target.exists():
            continue
        start = time.monotonic()
        if start - began + took.get(one.name, 0) > at_most:
            print(f"{target.stem}: no time is left for it", flush=True)
            continue
        folder = work / "models" / target.stem
        hardy.train(
            one.method,
            data=icons,
            hold_out=f"style:{style}",
            out=folder,
            net=one.net,
            seed=seed,
            epochs=one.times * epochs,
            track=untracked,
            **{**_RECIPE, **options},
        )
        trained = time.monotonic() - start
        tested = _tested(folder, style, icons, work, options)
        took[one.name] = time.monotonic() - start
        record = {**asked, **tested, "session": session()}
        target.parent.mkdir(parents=True, exist_ok=True)
        write_file(target, json.dumps(record).encode())
        about = f"{record[icons50_page.UNSEEN][0]:.1f} %, {trained:.1f} s to train"
        print(f"{target.stem}: {about}, {took[one.name]:.1f} s in all", flush=True)


def _asked(seed: int, one: Contender, style: str, epochs: int, icons: str) -> dict[str, Any]:
    return {
        "name": one.name,
        "net": one.net,
        "method": one.method,
        "style": style,
        "seed": seed,
        "epochs": one.times * epochs,
        "icons": icons,
    }


def _target(work: Path, seed: int, one: Contender, style: str) -> Path:
    return work / "results" / f"{one.name}-{style}-{seed}.json"


def _check_same(asked: dict[str, Any], target: Path) -> None:
    """What has been written must be of the same training."""
    if not target.exists():
        return
    found = json.loads(target.read_bytes())
    for what, value in asked.items():
        if found[what] != value:
            raise InputError(
                f"{target.stem} was run with {what} {found[what]}, not with {value}; name another "
                "--work"
            )


def _tested(
    folder: Path, style: str, icons: str, work: Path, options: dict[str, Any]
) -> dict[str, Any]:
    """Accuracies in percent with the ends of their intervals over icons; of each icon how many
    images there are and how many are right; and how often which class was taken for which."""
    done = hardy.evaluate(
        f"hardy:{folder}",
        suite=SUITE,
        files=icons,
        only=style,
        store=work / "runs",
        device=options.get("device") or "auto",
        track=untracked,
    )
    scores = done.score()
    found: dict[str, Any] = {
        name: [scores[name].value, *scores[name].interval]
        for name in (icons50_page.UNSEEN, icons50_page.SEEN)
    }
    stored, names = done.stored, class_names()
    answers = stored.read(stored.cells, ["top1"])["top1"].reshape(-1)
    by_icon: dict[str, list[int]] = {}
    wrong: Counter[tuple[str, str]] = Counter()
    for id, label, answer in zip(stored.ids, stored.labels, answers, strict=True):
        if str(id).startswith(IS_CLEAN):
            continue
        counts = by_icon.setdefault(icon_name(str(id)).icon, [0, 0])
        counts[0] += 1
        counts[1] += int(label == answer)
        if label != answer:
            wrong[names[label], names[answer]] += 1
    found["by_icon"] = dict(sorted(by_icon.items()))
    found["confused"] = [[*pair, times] for pair, times in wrong.most_common()]
    return found


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.icons50",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help=", ".join(one.name for one in CONTENDERS))
    parser.add_argument("--styles", nargs="*", default=[], help="all of the set if left out")
    parser.add_argument("--icons", default="icons50", help="icons50:full, or a folder")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument(
        "--same-epochs",
        action="store_true",
        help="as many for Shake-Shake, of which the original has ten times as many",
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument(
        "--at-most",
        type=float,
        default=float("inf"),
        metavar="SECONDS",
        help="begin nothing that would not be finished by then",
    )
    parser.add_argument("-o", "--out", type=Path, default=Path("results/icons50.md"))
    options = parser.parse_args(words)
    try:
        if options.what == "page":
            originals = {one.name: one.times for one in CONTENDERS}
            icons50_page.write(options.work, options.out, originals)
        else:
            about = (options.icons, options.seeds, options.styles, options.epochs, options.at_most)
            run(_chosen(options.only, same=options.same_epochs), options.work, *about)
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    return 0


def _chosen(names: list[str] | None, *, same: bool) -> list[Contender]:
    """Those that are named, in that order; all if none is."""
    known = {one.name: replace(one, times=1) if same else one for one in CONTENDERS}
    for name in names or ():
        if name not in known:
            raise unknown("net of the study", name, known)
    return [known[name] for name in names or known]


if __name__ == "__main__":
    raise SystemExit(main())
