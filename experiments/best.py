"""`python -m experiments.best`: which combination `hardy train best` is to be, and what it reaches.

    choose  candidates by a short schedule, on the validation corruptions of CIFAR-10-C and on
            C-bar alone: no corruption that counts in -C is looked at
    final   one of them at length, the chosen one if none is named; on all of -C, C-bar and -P
    table   what has been measured, the best choice first

The choice falls on the smallest mean of validation error and mean C-bar error. The same command
resumes; several may run side by side in one --work. Each writes WORK/results/NAME.json; the net is
the folder WORK/models/NAME.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hardy
from bench.table import grid
from experiments.runs import COUNTED, MOST_COMPILED, OF_C_BAR, PERTURBED, VALIDATION
from hardy.errors import HardyError, InputError, printable
from hardy.files import write_file
from hardy.registry import unknown
from hardy.store.provenance import session
from hardy.train.published_trainings import TRAININGS
from hardy.train.run_folder import epochs_in, read_run

USUAL = TRAININGS["best"].options  # all candidates have its net and schedule
FINAL = "final-"
SHORT = 25  # epochs by which candidates are told from each other
FRAMES_IMAGES = 2000  # of cifar10_p
VALIDATED, ON_C_BAR, ON_C = "validation error", "C̄ mean error", "mean error"
# Score, shown under this name, by suite and corruptions.
CHOOSING = {
    ("cifar10_c", "validation"): {"clean error": "clean error", VALIDATED: VALIDATED},
    ("cifar10_c_bar", "counted"): {"mean error": ON_C_BAR},
}
MEASURING = CHOOSING | {
    ("cifar10_c", "counted"): {"mean error": ON_C},
    ("cifar10_p", "counted"): {"flip probability": "flips"},
}


@dataclass(frozen=True)
class Candidate:
    method: str
    why: str
    settings: Mapping[str, object] = field(default_factory=dict)


CANDIDATES = {
    "both": Candidate(
        "best",
        "HybridAugment++ changes frequencies, PRIME's filters and curves what noise and digital "
        "steps change; JSD ties the views together, as it does in AugMix, PRIME and NoisyMix",
    ),
    "half": Candidate(
        "best",
        "the same, each method for half of the images: a small net may not learn so much at once",
        {"share": 0.5},
    ),
    "noise": Candidate(
        "best",
        "a patch of uniform noise besides, since noise is what is left of -C without it",
        {"share": 0.5, "views": "hybrid_augment+prime+patch_uniform"},
    ),
    "clean": Candidate(
        "best", "the clean image as a third view, as in AugMix and PRIME: half as dear again",
        {"clean": 1},
    ),
    "hybrid": Candidate(
        "hybrid_augment", "the lowest published error of this net, 8.3 %, under our schedule"
    ),
    "waves": Candidate(
        "afa", "AFA's waves, through batch norms of their own, beside one of our views",
        {"main": "best"},
    ),
    # What each part of the first is good for.
    "no-jsd": Candidate("best", "no agreement", {"jsd": 0.0}),
    "no-pairs": Candidate("best", "no frequencies of other images", {"paired": 0.0}),
    "no-prime": Candidate("best", "no PRIME", {"views": "hybrid_augment"}),
    "no-hybrid": Candidate("best", "no operations", {"views": "prime"}),
}  # fmt: skip


def train_and_measure(
    name: str, words: argparse.Namespace, *, final: bool = False
) -> dict[str, Any]:
    """The record of a candidate; what was written before is read again."""
    candidate, label = CANDIDATES[name], (FINAL if final else "") + name
    batch = words.batch or USUAL["batch"]
    recipe = {
        **USUAL, "epochs": words.epochs or (USUAL["epochs"] if final else SHORT), "batch": batch,
        "lr": USUAL["lr"] * batch / USUAL["batch"], "seed": words.seed,
    }  # fmt: skip
    recipe |= {"net": words.net} if words.net else {}
    asked = {"settings": dict(candidate.settings), "recipe": recipe}
    path = words.work / "results" / f"{label}.json"
    if path.exists():
        record: dict[str, Any] = json.loads(path.read_bytes())
        if {key: record.get(key) for key in asked} != asked:
            raise InputError(f"{path} is of another training; name another --work")
        return record
    folder = words.work / "models" / label
    trained = hardy.train(
        candidate.method, data=words.data, out=folder, settings=candidate.settings, say=_say,
        device=words.device, **recipe,
    )  # fmt: skip
    figures: dict[str, list[float]] = {}
    for (suite, what), shown in (MEASURING if final else CHOOSING).items():
        figures |= _measured(folder, suite, what, shown, words)
    record = {
        "name": label,
        "method": candidate.method,
        **asked,
        "seen": read_run(folder)["seen_corruptions"],
        "seconds": sum(row["seconds"] for row in epochs_in(trained.log)),
        "figures": figures,
        "session": session(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(record, indent=1).encode())
    return record


def _measured(
    folder: Path, suite: str, what: str, shown: Mapping[str, str], words: argparse.Namespace
) -> dict[str, list[float]]:
    """Scores in percent, each with the ends of its interval over test images."""
    only = {"cifar10_c_bar": OF_C_BAR, "cifar10_p": PERTURBED}.get(suite, COUNTED)
    done = hardy.evaluate(
        f"hardy:{folder}",
        suite=suite,
        images=words.test,
        store=words.work / "runs" / folder.name,
        device=words.device or "auto",
        batch=words.batch_shown,
        only=VALIDATION if what == "validation" else only,
        subset=words.frames_images if suite == "cifar10_p" else None,
    )
    scores = done.score()
    return {
        told: [scores[name].value, scores[name].interval.low, scores[name].interval.high]
        for name, told in shown.items()
    }


def choice_error(record: Mapping[str, Any]) -> float:
    figures = record["figures"]
    return float(figures[VALIDATED][0] + figures[ON_C_BAR][0]) / 2


def read(work: Path) -> list[dict[str, Any]]:
    """All records, the best choice first."""
    found = [json.loads(path.read_bytes()) for path in (work / "results").glob("*.json")]
    return sorted(found, key=choice_error)


def chosen(work: Path) -> str:
    names = [record["name"] for record in read(work) if not record["name"].startswith(FINAL)]
    if not names:
        raise InputError(f"expected results of `choose` in {work}, got none; run it, or name one")
    return str(names[0])


def told(work: Path) -> str:
    """What has been measured, as a table."""
    records = read(work)
    columns = [*dict.fromkeys(name for record in records for name in record["figures"])]
    head = ["candidate", "settings", "epochs", "seconds", "choice", *columns]
    rows = [
        [
            record["name"],
            " ".join(f"{key}={value}" for key, value in record["settings"].items()) or "-",
            str(record["recipe"]["epochs"]),
            f"{record['seconds']:.0f}",
            f"{choice_error(record):.2f}",
            *(_figure(record["figures"].get(name)) for name in columns),
        ]
        for record in records
    ]
    return grid(head, rows)


def _figure(figure: list[float] | None) -> str:
    return "-" if figure is None else "{:.2f} [{:.2f} to {:.2f}]".format(*figure)


def main(argv: list[str] | None = None) -> int:
    words = _parser().parse_args(argv)
    try:
        for name in words.names:
            if name not in CANDIDATES:
                raise unknown("candidate", name, CANDIDATES)
        if words.what != "table":
            _run(words)
        print(told(words.work), flush=True)
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    return 0


def _run(words: argparse.Namespace) -> None:
    import torch

    # What is compiled serves all nets of one shape; torch would give up on the ninth of others.
    torch._dynamo.config.recompile_limit = MOST_COMPILED
    if words.at_most:  # as a cluster has it: a training saves its state, and ends
        clock = threading.Timer(words.at_most, os.kill, (os.getpid(), signal.SIGTERM))
        clock.daemon = True
        clock.start()
    final = words.what == "final"
    for name in words.names or ([chosen(words.work)] if final else CANDIDATES):
        record = train_and_measure(name, words, final=final)
        _say(f"{record['name']}: {record['seconds']:.0f} s, {record['figures']}")
    if words.at_most:
        clock.cancel()


def _say(text: str) -> None:
    print(text, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.best",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("choose", "final", "table"))
    parser.add_argument("names", nargs="*", help=f"of candidates: {', '.join(CANDIDATES)}")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--data", default="cifar10:train")
    parser.add_argument("--test", default="cifar10:test")
    parser.add_argument("--device", help="the best there is, if left out")
    parser.add_argument("--net", help="that of the recipe, if left out")
    parser.add_argument("--epochs", type=int, help=f"{SHORT} to choose, else those of the recipe")
    parser.add_argument("--batch", type=int, help="the learning rate follows in proportion")
    parser.add_argument("--batch-shown", type=int, default=1024, help="images of an evaluation")
    parser.add_argument("--frames-images", type=int, default=FRAMES_IMAGES, help="for cifar10_p")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-most", type=float, metavar="SECONDS", help="then it stops, to resume")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
