"""`python -m experiments.groceries`: fine-tuning on 2,054 photographs, by several methods.

Each method trains a net from ImageNet's weights on the photographs of `hardy fetch groceries`, with
several seeds, and is shown the test set under ImageNet-C and ImageNet-C̄. The same command resumes.
With all of it done, OUT gets the page; made for a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import hardy
from hardy.errors import HardyError, printable
from hardy.images.groceries import GROCERIES
from hardy.store.provenance import session
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


def measure(method: str, seed: int, options: argparse.Namespace) -> dict[str, float]:
    """Train one net, and show it the test set: its errors, by column of the page."""
    folder = options.work / f"{method}-{seed}"
    hardy.train(
        method,
        data=options.data / "train",
        out=folder,
        init=options.init,
        seed=seed,
        epochs=options.epochs,
        batch=options.batch,
        say=print,
    )
    errors = {}
    for suite, title in SUITES.items():
        run: Any = hardy.evaluate(
            f"hardy:{folder}",
            suite=suite,
            images=options.data / "test",
            store=options.work / "runs",
            own_classes=True,
            subset=options.subset,
        )
        scores = run.score()
        errors |= {"clean": scores[CLEAN].value, title: scores[CORRUPTED].value}
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
    return [
        f"`{options.init}`, fine-tuned on the {options.data.name} classes of {GROCERIES.package}: "
        f"{pace['epochs']} epochs, batch {pace['batch']}, learning rate {pace['lr']:g}, "
        f"{pace['precision']}, {options.seeds} seeds. Errors in percent on {shown}, mean over all "
        "corruptions and severities; ± is half of the 95 % interval over seeds by Student's t, and "
        "differences are taken seed by seed.",
        "",
        f"Machine: {machine}; torch {here['versions']['torch']}. Made by "
        f"`python -m experiments.groceries --init {options.init} --seeds {options.seeds}`.",
    ]


def main(words: list[str] | None = None) -> int:
    options = _parser().parse_args(words)
    try:
        options.data = options.data or hardy.fetch("groceries") / "fine"
        found = {
            method: [measure(method, seed, options) for seed in range(options.seeds)]
            for method in dict.fromkeys((METHODS[0], *options.methods))
        }
        options.out.write_text(page(found, _told(options)), encoding="utf-8")
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    print(options.out)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, default=Path("groceries"), help="nets and predictions")
    parser.add_argument("--out", type=Path, default=Path("results/groceries.md"))
    parser.add_argument("--data", type=Path, help="a folder with train and test; or fetched")
    parser.add_argument("--init", default="zoo:resnet50")
    parser.add_argument("--seeds", type=int, default=3, choices=list(STUDENT))
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    for name in ("epochs", "batch", "subset"):
        parser.add_argument(f"--{name}", type=int)
    return parser


if __name__ == "__main__":
    sys.exit(main())
