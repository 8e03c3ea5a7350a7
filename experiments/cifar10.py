"""`python -m experiments.cifar10`: every training method on CIFAR-10, and the page of results.

    run     train, evaluate and score; the same command resumes
    speed   how fast the standard training is, and what AugMix's mixing costs
    attack  generators of noise against the nets of ANT and their rivals, beside Gaussian noise
    table   results/cifar10.md and .json from what the others wrote

What is measured goes into WORK/results, a JSON file each.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments import score_files
from hardy.errors import HardyError, printable

if TYPE_CHECKING:
    from experiments.runs import Place


def main(words: list[str] | None = None) -> int:
    try:
        return _run(_parser().parse_args(words))
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    if options.what == "table":
        from experiments import table

        rounds = [score_files.read([path]) for path in options.again]
        records = {**score_files.read(options.files), **score_files.repeated_tuning(rounds)}
        print(table.write(records, options.out))
        return 0
    from experiments import runs
    from experiments.plan import select

    place = _place(options)
    if options.what == "run":
        return min(runs.run(select(options.only), place, _say), 1)
    if options.what == "speed":
        runs.run_speed(place, options.epochs, _say)
    else:
        runs.run_attack(place, options.epsilon, _say)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.cifar10",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(dest="what", required=True)
    table = kinds.add_parser("table")
    table.add_argument("files", type=Path, nargs="+", help="JSON files, or folders of them")
    told = "as the files: other rounds of the tuning, one each"
    table.add_argument("--again", type=Path, nargs="*", default=[], help=told)
    table.add_argument("-o", "--out", type=Path, default=Path("results"))
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--work", type=Path, required=True)
    common.add_argument("--data", default="cifar10:train", help="as `open_images` takes it")
    common.add_argument("--test", default="cifar10:test")
    common.add_argument("--device", default="auto")
    common.add_argument("--net", default="wrn_40_2")
    common.add_argument("--batch", type=int, default=128, help="images of a training step")
    common.add_argument("--lr", type=float, default=0.1)
    common.add_argument("--precision", default="bfloat16", help="of training")
    run = kinds.add_parser("run", parents=[common])
    run.add_argument("--only", nargs="*", default=[], help="names, groups or patterns")
    run.add_argument("--epochs", type=int, default=30, help="of the common schedule")
    run.add_argument("--tuning-epochs", type=int, default=10)
    run.add_argument("--frames-images", type=int, default=2000, help="test images for cifar10_p")
    run.add_argument("--defence-images", type=int, default=2000, help="test images for defences")
    run.add_argument("--stylised", help="what `hardy stylise` made of the training images")
    speed = kinds.add_parser("speed", parents=[common])
    speed.add_argument("--epochs", type=int, default=3, help="after the first")
    attack = kinds.add_parser("attack", parents=[common])
    attack.add_argument("--epsilon", type=float, help="left out: the one chosen")
    return parser


def _place(options: argparse.Namespace) -> Place:
    import torch

    from experiments.runs import Place
    from hardy.train.hyperparameters import Hyperparameters

    best = "cuda:0" if torch.cuda.is_available() else "cpu"
    device = torch.device(best if options.device == "auto" else options.device)
    recipe = Hyperparameters(
        net=options.net, batch=options.batch, lr=options.lr, precision=options.precision
    )
    place = Place(
        work=options.work,
        data=options.data,
        test=options.test,
        recipe=recipe,
        device=device,
        batch=1024 if device.type == "cuda" else "auto",
    )
    if options.what != "run":
        return place
    return replace(
        place,
        recipe=replace(recipe, epochs=options.epochs),
        tuning_epochs=options.tuning_epochs,
        frames_images=options.frames_images,
        defence_images=options.defence_images,
        stylised=options.stylised,
    )


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
