"""`python -m experiments.cifar10`: every training method on CIFAR-10, and the page of results.

    warm    compile what evaluations need, in several processes; may run beside a training
    run     train, evaluate and score; again = resume. Stops by itself after --minutes
    speed   how fast the standard training is, and what AugMix's mixing costs
    attack  generators of noise against the nets of ANT and their rivals, beside Gaussian noise
    table   results/cifar10.md and .json from what the others wrote

What is measured goes into a JSON file each into WORK/results, and all of them into --bundle.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments import kept
from hardy.errors import HardyError, printable

if TYPE_CHECKING:
    from experiments.runs import Place


def main(words: list[str] | None = None) -> int:
    try:
        return _run(_parser().parse_args(words), words)
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace, words: list[str] | None) -> int:
    if options.what == "table":
        from experiments import table

        rounds = [kept.read([path]) for path in options.again]
        records = {**kept.read(options.files), **kept.repeated_tuning(rounds)}
        print(table.write(records, options.out))
        return 0
    from experiments import extras, runs
    from experiments.plan import select

    place = _place(options)
    if options.what == "run":
        return min(runs.run(select(options.only), place, _say), 1)
    if options.what == "warm" and options.share is None:
        extras.warm_together(options.processes, (words or sys.argv[1:])[1:])
    elif options.what == "warm":
        extras.warm(place, *options.share)
    elif options.what == "speed":
        extras.run_speed(place, options.epochs, _say)
    else:
        extras.run_attack(place, options.epsilon, _say)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.cifar10",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(dest="what", required=True)
    table = kinds.add_parser("table")
    table.add_argument("files", type=Path, nargs="+", help="bundles, or folders of JSON files")
    table.add_argument(
        "--again",
        type=Path,
        nargs="*",
        default=[],
        help="as the files: other rounds of the tuning, one each",
    )
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
    common.add_argument("--bundle", type=Path, help="a file for all results")
    common.add_argument("--commit", help="of the sources, where there is no git to ask")
    run = kinds.add_parser("run", parents=[common])
    run.add_argument("--only", nargs="*", default=[], help="names, groups or patterns")
    run.add_argument("--epochs", type=int, default=30, help="of the common schedule")
    run.add_argument("--tuning-epochs", type=int, default=10)
    run.add_argument("--minutes", type=float, default=float("inf"))
    run.add_argument("--frames-images", type=int, default=2000, help="test images for cifar10_p")
    run.add_argument("--defence-images", type=int, default=2000, help="test images for defences")
    warm = kinds.add_parser("warm", parents=[common])
    warm.add_argument("--frames-images", type=int, default=2000)
    warm.add_argument("--processes", type=int, default=12)
    warm.add_argument("--share", type=int, nargs=2, metavar=("K", "OF"))
    speed = kinds.add_parser("speed", parents=[common])
    speed.add_argument("--epochs", type=int, default=3, help="after the first")
    attack = kinds.add_parser("attack", parents=[common])
    attack.add_argument("--epsilon", type=float, help="left out: the one chosen")
    return parser


def _place(options: argparse.Namespace) -> Place:
    import torch

    from experiments.runs import Place
    from hardy.train.hyperparameters import Hyperparameters

    name = options.device
    if name == "auto":
        name = "cuda:0" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
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
        commit=options.commit,
        bundle=options.bundle,
    )
    if options.what == "warm":
        return replace(place, frames_images=options.frames_images)
    if options.what != "run":
        return place
    return replace(
        place,
        recipe=replace(recipe, epochs=options.epochs),
        tuning_epochs=options.tuning_epochs,
        frames_images=options.frames_images,
        defence_images=options.defence_images,
        deadline=time.monotonic() + 60 * options.minutes,
    )


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
