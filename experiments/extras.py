"""What is done once: compiling, the speed of training, noise learned against the standard model."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

import torch

import hardy
from experiments import kept, measures
from experiments.plan import STANDARD, chosen
from experiments.runs import COUNTED, PERTURBED, VALIDATION, Place
from hardy.attacks.attack import attack
from hardy.errors import InputError
from hardy.models import Preprocessing
from hardy.predictions.provenance import session
from hardy.suites import load

# Of an attack: value, low and high of each, in percent; the last is adversarial less Gaussian.
ATTACKED = ("clean", "adversarial", "gaussian", "difference")


def warm_together(processes: int, words: Sequence[str]) -> None:
    """One process compiles one kernel at a time; several fill the cache together."""
    command = [sys.executable, "-m", "experiments.cifar10", "warm", *words, "--share"]
    started = [
        subprocess.Popen([*command, str(share), str(processes)]) for share in range(processes)
    ]
    for process in started:
        process.wait()


def warm(place: Place, share: int, shares: int) -> None:
    """Some cells of both suites, for a model that answers at once: all that an evaluation compiles
    on a GPU."""
    module = torch.nn.Sequential(
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 10)
    ).to(place.device)
    for suite, groups in (("cifar10_c", COUNTED + VALIDATION), ("cifar10_p", PERTURBED)):
        names = [name for group in groups for name in getattr(load(suite), group, [group])]
        if names[share::shares]:
            with tempfile.TemporaryDirectory() as store:
                hardy.evaluate(
                    module,
                    suite=suite,
                    images=place.test,
                    only=names[share::shares],
                    subset=place.frames_images if suite == "cifar10_p" else None,
                    store=store,
                    name="warm",
                    device=str(place.device),
                    batch=place.batch,
                    preprocessing=Preprocessing((0.5,) * 3, (0.5,) * 3),
                    warn=lambda _: None,
                )


def run_speed(place: Place, epochs: int, say: Callable[[str], None]) -> None:
    found = measures.speed(place.training_data(), place.recipe, place.device, epochs)
    record = {"format": kept.FORMAT, "name": "speed", "group": "speed", "speed": found}
    place.keep(record | {"session": session(commit=place.commit)})
    say(f"speed: {found}")


def run_attack(place: Place, epsilons: list[float] | None, say: Callable[[str], None]) -> None:
    """Noise that is fitted on training images, at the norm chosen for ANT unless others are named;
    measured on all test images."""
    if not epsilons:
        value = chosen(kept.validation_errors(kept.read([place.results])), "ant")
        if value is None:
            raise InputError("no ε has been chosen yet; run --only tuning, or name --epsilons")
        epsilons = [float(value)]
    for epsilon in epsilons:
        found = attack(
            f"hardy:{place.work / 'models' / STANDARD}",
            suite="cifar10_c",
            epsilon=epsilon,
            attack_images=place.data,
            images=place.test,
            store=place.work / "runs" / STANDARD,
            name=STANDARD,
            device=str(place.device),
            batch=place.batch,
        )
        record = {
            "format": kept.FORMAT,
            "name": f"attack-{epsilon:g}",
            "group": "attack",
            "epsilon": epsilon,
            **{name: list(getattr(found, name)) for name in ATTACKED},
            "session": session(commit=place.commit),
        }
        place.keep(record)
        say(f"attack at {epsilon:g}: {[record[name] for name in ATTACKED]}")
