"""What is done beside the trainings: compiling, their speed, noise learned against the nets."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

import torch

import hardy
from experiments import kept, measures
from experiments.plan import ATTACKED, chosen
from experiments.runs import COUNTED, PERTURBED, VALIDATION, Place
from hardy.attacks.attack import attack
from hardy.errors import InputError
from hardy.models import Preprocessing
from hardy.store.provenance import session
from hardy.suites import load

# Of an attack: value, low and high of each. Shares that are right, in percent; adversarial less
# Gaussian; the smallest distance at which the learned noise spoils the answer.
MEASURED = ("clean", "adversarial", "gaussian", "difference", "median_distance")


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


def run_attack(place: Place, epsilon: float | None, say: Callable[[str], None]) -> None:
    """Noise that is fitted on training images, at the norm chosen for ANT unless another is named,
    anew against each model that has been trained; measured on all test images."""
    finished = kept.read([place.results])
    if epsilon is None:
        value = chosen(kept.validation_errors(finished), "ant")
        if value is None:
            raise InputError("no ε has been chosen yet; run --only tuning, or name --epsilon")
        epsilon = float(value)
    for name in ATTACKED:
        if name not in finished:
            say(f"attack on {name}: waits for {name}")
            continue
        found = attack(
            f"hardy:{place.work / 'models' / name}",
            suite="cifar10_c",
            epsilon=epsilon,
            attack_images=place.data,
            images=place.test,
            store=place.work / "runs" / name,
            name=name,
            device=str(place.device),
            batch=place.batch,
        )
        record = {
            "format": kept.FORMAT,
            "name": f"attack-{name}",
            "group": "attack",
            "model": name,
            "noise": found.noise,
            "epsilon": epsilon,
            "steps": found.steps,
            "images": found.images,
            "never": found.never,
            **{figure: list(getattr(found, figure)) for figure in MEASURED},
            "session": session(commit=place.commit),
        }
        place.keep(record)
        say(f"attack on {name} at {epsilon:g}: {[record[figure] for figure in MEASURED]}")
