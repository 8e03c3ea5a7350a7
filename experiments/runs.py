"""Trains, evaluates and scores configurations, each into a JSON file; measures speed, and noise
learned against the nets. The same call resumes."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

import hardy
from experiments import measures, score_files
from experiments.plan import ATTACKED, STUDY, TUNED, Configuration, chosen
from hardy.attacks.attack import attack
from hardy.errors import HardyError, InputError
from hardy.evaluation import Evaluation, Run
from hardy.models.model import facts_of
from hardy.scores import Scores
from hardy.store.provenance import session
from hardy.train.hyperparameters import Hyperparameters, with_additions
from hardy.train.loop import run_training
from hardy.train.run_folder import MODEL, read_log, read_run
from hardy.train.training_data import Data, read_data

# Of the suites; validation corruptions choose settings and count in no mean.
COUNTED, VALIDATION, PERTURBED, OF_C_BAR = ["counted"], ["validation"], ["counted"], ["counted"]
MOST_COMPILED = 64
# The figures of an attack, each with low and high: shares that are right, in percent; adversarial
# less Gaussian; the smallest distance at which the learned noise spoils the answer.
MEASURED = ("clean", "adversarial", "gaussian", "difference", "median_distance")


class Waits(Exception):
    """Something else must be finished first."""


@dataclass(frozen=True)
class Place:
    """Where everything is, and how it is run on this machine."""

    work: Path
    data: str
    test: str
    recipe: Hyperparameters  # the common one
    device: torch.device
    batch: int | str  # of evaluations
    tuning_epochs: int = 10
    frames_images: int = 2000  # of cifar10_p
    defence_images: int = 2000  # and a tenth of it of cifar10_p
    stylised: str | None = None  # the training images in other styles, by `hardy stylise`
    held: list[Data] = field(default_factory=list)  # the training images, once they were read

    @property
    def results(self) -> Path:
        return self.work / "results"

    def training_data(self) -> Data:
        """Read when something is trained at all, and once."""
        if not self.held:
            self.held.append(read_data(self.data, self.device))
        return self.held[0]

    def stylised_data(self) -> Data:
        if self.stylised is None:
            raise Waits("a set that `hardy stylise` makes of the training images: --stylised DIR")
        return read_data(self.stylised, self.device)

    def keep(self, record: dict[str, Any]) -> None:
        score_files.write(self.results / f"{record['name']}.json", record)


def run(configurations: Iterable[Configuration], place: Place, say: Callable[[str], None]) -> int:
    """The number of configurations that failed. One that does costs the others nothing."""
    failed = 0
    for configuration in configurations:
        name, began = configuration.name, time.monotonic()
        try:
            record = _one(configuration, place)
        except Waits as reason:
            say(f"{name}: waits for {reason}")
        except Exception as error:  # whatever a method may do: the others can still be run
            failed += 1
            say(f"{name}: failed: {error}\n{traceback.format_exc()}")
        else:
            say(f"{name}: {_line(record)}; {time.monotonic() - began:.0f} s")
    return failed


def _one(configuration: Configuration, place: Place) -> dict[str, Any]:
    finished = score_files.read([place.results]) if place.results.exists() else {}
    settings, recipe = _settled(configuration, place, finished)
    asked: dict[str, Any] = {
        "settings": settings,
        "recipe": json.loads(json.dumps(asdict(recipe))),  # tuples are lists, as in files
        "measured": _measured(configuration, place),
    }
    stylised = place.stylised_data() if configuration.stylised else None
    if stylised is not None:
        asked["stylised"] = stylised.sha256
    if record := finished.get(configuration.name):
        record["recipe"] = with_additions(record["recipe"])
        for what, value in asked.items():
            if record.get(what) != value:
                raise InputError(
                    f"{record['name']} was run with the {what} {record.get(what)}, not with "
                    f"{value}; name another --work"
                )
        return record
    for other in (configuration.of, configuration.init_of):
        if other is not None and other not in finished:
            raise Waits(other)
    folder = place.work / "models" / (configuration.of or configuration.name)
    if configuration.of is None:
        # What is compiled serves all nets of one shape, and is kept; torch would give up on the
        # ninth shape of batches, modes and nets.
        if place.device.type == "cuda":
            torch._dynamo.config.recompile_limit = MOST_COMPILED
        first = configuration.init_of
        run_training(
            configuration.method,
            place.training_data(),
            folder,
            recipe,
            settings=settings,
            init=None if first is None else place.work / "models" / first / MODEL,
            stylised=stylised,
            device=place.device,
        )
    record = _measure(configuration, place, folder, asked)
    place.keep(record)
    return record


def _measure(
    configuration: Configuration, place: Place, folder: Path, asked: dict[str, Any]
) -> dict[str, Any]:
    about, log = read_run(folder), read_log(folder)
    seconds = {"training": sum(row["seconds"] for row in log)}
    scores: list[dict[str, Any]] = []
    warnings: list[str] = []
    adapted: list[int] = []  # in batches of so many
    measures_of = _measures(configuration, place, folder, warnings.append, adapted.append)
    for what, measure in measures_of.items():
        began = time.monotonic()
        scores += measure()
        seconds[what] = time.monotonic() - began
    return {
        "format": score_files.FORMAT,
        "name": configuration.name,
        "group": configuration.group,
        "method": configuration.method,
        **asked,
        "of": configuration.of,
        "init_of": configuration.init_of,
        "defend": configuration.defend,
        "adapts_in": sorted(set(adapted)),
        "seen_corruptions": about["seen_corruptions"],
        "data": {key: about["data"][key] for key in ("shape", "classes", "sha256")},
        "log": log,
        "scores": scores,
        "warnings": warnings,
        "seconds": {what: round(figure, 1) for what, figure in seconds.items()},
        "session": session(),
    }


def _settled(
    configuration: Configuration, place: Place, finished: dict[str, dict[str, Any]]
) -> tuple[dict[str, str], Hyperparameters]:
    settings = dict(configuration.settings)
    if method := configuration.chosen_for:
        value = chosen(score_files.validation_errors(finished), method)
        if value is None:
            raise Waits(f"the trainings tune-{method}-*, which choose its {TUNED[method]}")
        settings[TUNED[method]] = value
    recipe = replace(place.recipe, **configuration.recipe)
    if configuration.group == "tuning":
        recipe = replace(recipe, epochs=place.tuning_epochs)
    return settings, recipe


@cache
def _digest(images: str) -> str:
    return read_data(images, torch.device("cpu")).sha256


def _measured(configuration: Configuration, place: Place) -> dict[str, Any]:
    """What on: the test images, and how many of them each suite takes; None is all."""
    test = _digest(place.test)
    if configuration.group == "tuning":
        return {"test": test, "cifar10_c": None}
    if configuration.group == "defences":
        images, frames = place.defence_images, place.defence_images // 10
    else:
        images, frames = None, place.frames_images
    both = {"test": test, "cifar10_c": images, "cifar10_p": frames}
    return both | ({"cifar10_c_bar": None} if configuration.group == STUDY else {})


def _measures(
    configuration: Configuration,
    place: Place,
    folder: Path,
    warn: Callable[[str], None],
    adapts_in: Callable[[int], None],
) -> dict[str, Callable[[], list[dict[str, Any]]]]:
    """What is measured of a finished model; of a candidate the validation corruptions alone."""

    def announced(evaluation: Evaluation) -> None:
        if configuration.adapts:
            adapts_in(facts_of(evaluation.models[0]).adapts_in)

    def evaluated(suite: str, **options: Any) -> Scores:
        if configuration.defend is not None:
            options["defend"] = configuration.defend
        found = hardy.evaluate(
            f"hardy:{folder}",
            suite=suite,
            images=place.test,
            # Each its own: the standard model again, on fewer images, would be the same run.
            store=place.work / "runs" / configuration.name,
            name=configuration.name,
            device=str(place.device),
            # What adapts depends on its batch, which is therefore the usual one everywhere.
            batch="auto" if configuration.adapts else place.batch,
            announce=announced,
            warn=warn,
            **options,
        )
        if not isinstance(found, Run):
            raise HardyError(f"expected one run of one model, got {len(found)}")
        return found.score()

    if configuration.group == "tuning":
        return {
            "cifar10_c": lambda: score_files.of_corruptions(evaluated("cifar10_c", only=VALIDATION))
        }
    number = _measured(configuration, place)
    found = {
        "cifar10_c": lambda: score_files.of_corruptions(
            evaluated("cifar10_c", only=[*COUNTED, *VALIDATION], subset=number["cifar10_c"])
        ),
        "cifar10_p": lambda: score_files.of_sequences(
            evaluated("cifar10_p", only=PERTURBED, subset=number["cifar10_p"])
        ),
    }
    if configuration.group == STUDY:  # gains on -C alone may be tuned to it
        found["cifar10_c_bar"] = lambda: score_files.of_c_bar(
            evaluated("cifar10_c_bar", only=OF_C_BAR)
        )
    if configuration.of is None:  # a defence is no part of the model
        found["shifts"] = lambda: [
            score_files.keep(measures.shift_flips(folder, place.test, place.device))
        ]
    return found


def _line(record: dict[str, Any]) -> str:
    headline = [
        score_files.restore(entry)
        for entry in record["scores"]
        if entry["name"] in score_files.PAIRED
    ]
    seconds = ", ".join(f"{what} {figure:.0f} s" for what, figure in record["seconds"].items())
    figures = ", ".join(f"{score.name} {score.figure()}" for score in headline)
    return "; ".join([f"{figures} ({seconds})", *record["warnings"]])


def run_speed(place: Place, epochs: int, say: Callable[[str], None]) -> None:
    found = measures.speed(place.training_data(), place.recipe, place.device, epochs)
    record = {"format": score_files.FORMAT, "name": "speed", "group": "speed", "speed": found}
    place.keep(record | {"session": session()})
    say(f"speed: {found}")


def run_attack(place: Place, epsilon: float | None, say: Callable[[str], None]) -> None:
    """Noise that is fitted on training images, at the norm chosen for ANT unless another is named,
    anew against each model that has been trained; measured on all test images."""
    finished = score_files.read([place.results])
    if epsilon is None:
        value = chosen(score_files.validation_errors(finished), "ant")
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
            "format": score_files.FORMAT,
            "name": f"attack-{name}",
            "group": "attack",
            "model": name,
            "noise": found.noise,
            "epsilon": epsilon,
            "steps": found.steps,
            "images": found.images,
            "never": found.never,
            **{figure: list(getattr(found, figure)) for figure in MEASURED},
            "session": session(),
        }
        place.keep(record)
        say(f"attack on {name} at {epsilon:g}: {[record[figure] for figure in MEASURED]}")
