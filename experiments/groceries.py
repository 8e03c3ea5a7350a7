"""`python -m experiments.groceries`: fine-tuning on 2,054 photographs, by several methods.

Each method trains a net from ImageNet's weights on the photographs of `hardy fetch groceries`, with
several seeds; then all nets are shown the test set under ImageNet-C and ImageNet-C̄ at once, and OUT
gets the page. The same command resumes. Made for a GPU, which one small net does not fill: several
processes of `--train-only`, each with other `--methods`, train side by side.

    python -m experiments.groceries --methods augmix --train-only
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import hardy
from hardy.errors import HardyError, InputError, printable
from hardy.images.groceries import GROCERIES
from hardy.store.provenance import session
from hardy.train.hyperparameters import best_device
from hardy.train.run_folder import read_run

METHODS = ("standard", "gauss_single", "gauss_mult", "augmix", "ant", "prime")
SUITES = {"imagenet_c": "ImageNet-C", "imagenet_c_bar": "ImageNet-C̄"}
CLEAN, CORRUPTED = "clean error", "mean error"
# 97.5 % of Student's t with one degree of freedom less than there are seeds.
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}


class Spread(NamedTuple):
    """A mean over seeds, and half of its 95 % interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.half:.1f}"


def spread(figures: Sequence[float]) -> Spread:
    half = STUDENT[len(figures)] * statistics.stdev(figures) / len(figures) ** 0.5
    return Spread(statistics.fmean(figures), half)


def train(method: str, seed: int, options: argparse.Namespace) -> Path:
    """Train one net, unless it is there, made by the same options; its folder."""
    folder: Path = options.work / f"{method}-{seed}"
    hardy.train(
        method,
        data=options.data / "train",
        out=folder,
        init=options.init,
        settings=options.settings.get(method),
        seed=seed,
        epochs=options.epochs,
        batch=options.batch,
        say=print,
    )
    return folder


def measure(folders: Sequence[Path], options: argparse.Namespace) -> list[dict[str, float]]:
    """The errors of each net on the test set, by column of the page. All nets see a corrupted
    image while it is there."""
    errors: list[dict[str, float]] = [{} for _ in folders]
    for suite, title in SUITES.items():
        runs = hardy.evaluate(
            [f"hardy:{folder}" for folder in folders],
            suite=suite,
            images=options.data / "test",
            store=options.work / "runs",
            own_classes=True,
            subset=options.subset,
            precision=best_device(None, None)[1],
        )
        for run, found in zip(runs, errors, strict=True):
            scores = run.score()
            found |= {"clean": scores[CLEAN].value, title: scores[CORRUPTED].value}
    return errors


def page(found: dict[str, list[dict[str, float]]], told: list[str]) -> str:
    """The page: errors in percent, and how far each method is below standard training."""
    first = next(iter(found.values()))
    columns = list(first[0])
    plain = found[METHODS[0]]
    head = [*columns, *(f"{title} below standard" for title in columns[1:])]
    lines = ["# Fine-tuning on grocery photographs", "", *told, ""]
    lines += [f"| method | {' | '.join(head)} |", f"|{'---|' * (len(head) + 1)}"]
    for method, errors in found.items():
        cells = [str(spread([one[column] for one in errors])) for column in columns]
        for column in columns[1:]:
            gains = [a[column] - b[column] for a, b in zip(plain, errors, strict=True)]
            cells.append("–" if method == METHODS[0] else str(spread(gains)))
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _told(options: argparse.Namespace) -> list[str]:
    here = session()
    machine = here["gpu"] or f"{here['cpu']}, {here['cores']} cores"
    pace = read_run(options.work / f"{METHODS[0]}-0")["recipe"]
    shown = "all test photographs" if options.subset is None else f"{options.subset} of them"
    said = "" if options.methods == METHODS else f" --methods {' '.join(options.methods)}"
    said += "".join(f" --set {one}" for one in options.set)
    for name in ("epochs", "batch", "subset"):
        if getattr(options, name) is not None:
            said += f" --{name} {getattr(options, name)}"
    return [
        f"`{options.init}`, fine-tuned on the {options.data.name} classes of {GROCERIES.package}: "
        f"{pace['epochs']} epochs, batch {pace['batch']}, learning rate {pace['lr']:g}, "
        f"{pace['precision']}, {options.seeds} seeds. Errors in percent on {shown}, mean over all "
        "corruptions and severities; ± is half of the 95 % interval over seeds by Student's t, and "
        "differences are taken seed by seed.",
        "",
        f"Machine: {machine}; torch {here['versions']['torch']}. Made by "
        f"`python -m experiments.groceries --init {options.init} --seeds {options.seeds}{said}`.",
    ]


def main(words: list[str] | None = None) -> int:
    options = _parser().parse_args(words)
    try:
        options.settings = _settings(options.set)
        options.data = options.data or hardy.fetch("groceries") / "fine"
        seeds = range(options.seeds)
        if options.train_only:
            for method in options.methods:
                for seed in seeds:
                    print(train(method, seed, options))
            return 0
        methods = list(dict.fromkeys((METHODS[0], *options.methods)))
        folders = [train(method, seed, options) for method in methods for seed in seeds]
        errors = measure(folders, options)
        found = {
            method: errors[place * options.seeds :][: options.seeds]
            for place, method in enumerate(methods)
        }
        options.out.write_text(page(found, _told(options)), encoding="utf-8")
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    print(options.out)
    return 0


def _settings(said: Sequence[str]) -> dict[str, dict[str, str]]:
    """Settings of each method out of METHOD:NAME=VALUE."""
    found: dict[str, dict[str, str]] = {}
    for one in said:
        method, colon, setting = one.partition(":")
        name, equals, value = setting.partition("=")
        if method not in METHODS or not (colon and name and equals):
            raise InputError(f"expected --set METHOD:NAME=VALUE of {', '.join(METHODS)}, got {one}")
        found.setdefault(method, {})[name] = value
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, default=Path("groceries"), help="nets and predictions")
    parser.add_argument("--out", type=Path, default=Path("results/groceries.md"))
    parser.add_argument("--data", type=Path, help="a folder with train and test; or fetched")
    parser.add_argument("--init", default="zoo:resnet50")
    parser.add_argument("--seeds", type=int, default=3, choices=list(STUDENT))
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--set", action="append", default=[], metavar="METHOD:NAME=VALUE")
    parser.add_argument("--train-only", action="store_true", help="train the nets, and stop")
    for name in ("epochs", "batch", "subset"):
        parser.add_argument(f"--{name}", type=int)
    return parser


if __name__ == "__main__":
    sys.exit(main())
