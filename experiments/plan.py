"""What is run: configurations by name, in the order in which they matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from hardy.registry import unknown
from hardy.suites import edition

# The net and schedule of the papers, in which their figures stand.
PAPER: Mapping[str, Any] = {"net": "wrn_40_2", "epochs": 100}
# Candidates. The norms are those of Gaussian noise of the same σ before it is clipped:
# ε = σ · √(3 · 32 · 32).
SIGMAS = (0.05, 0.1, 0.2, 0.3)
VALUES = 3 * 32 * 32
TUNED = {"gauss_single": "sigma", "ant": "epsilon"}
AMPLITUDES = WEIGHTS = (0.01, 0.05, 0.1)
DEFENCES = ("clahe", "nlm", "median", "tencrop", "bn_adapt")
# The one that adapts, and N: for how many images the model's own statistics count.
ADAPTED, SOURCE = "bn_adapt", 16
STANDARD = "standard"
# How far two trainings of one kind come out apart.
REPEATED, ANOTHER_SEED = "standard-again", {"seed": 1}
UNDEFENDED = "standard+none"  # on the images of the defences, some of which are slow
# As the paper trains by noise: on from a trained net, with a small learning rate.
FINE_TUNED, FINE = "fine-tuned", {"lr": 1e-3, "weight_decay": 0.0}
# Newer methods under the paper's schedule, and the views that AFA is combined with; three seeds.
STUDY, SEEDS = "study", 3
STUDIED = ("standard", "augmix", "hybrid_augment", "apr", "prime", "noisy_mix", "pix_mix",
           "trivial_augment", "afa", "deep_augment")  # fmt: skip
COMBINED = ("augmix", "hybrid_augment", "prime", "pix_mix", "trivial_augment")
# ANT beside stylised images, as the paper's ANT+SIN; the set is `hardy stylise`'s, and no SIN.
STYLISED = "ant+stylised"
# Whom noise is learned against, each time anew.
ATTACKED = (STANDARD, "gauss_single", "ant", "ant3x3")
# Shifts: by up to so many pixels, and pairs of them per image.
SHIFT, SHIFT_PAIRS = 4, 4


@dataclass(frozen=True)
class Configuration:
    name: str
    group: str
    method: str
    settings: Mapping[str, str] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)  # where it is not the common one
    chosen_for: str | None = None  # the method whose setting was chosen on validation corruptions
    init_of: str | None = None  # the configuration whose weights it starts from
    of: str | None = None  # the configuration whose model this is, with a defence before it
    defend: str | None = None
    stylised: bool = False  # whether a part of each batch is of a stylised set

    @property
    def adapts(self) -> bool:
        return (self.defend or "").startswith(ADAPTED)


def _severities(corruption: str) -> str:
    """σ of the benchmark's noise at 32 px, which the paper's baselines take at 224."""
    return ",".join(str(row["sigma"]) for row in edition("cifar").corruptions[corruption])


def _candidates(method: str) -> Iterable[str]:
    scale = 1.0 if method == "gauss_single" else VALUES**0.5
    return (f"{sigma * scale:.3g}" for sigma in SIGMAS)


def stability(amplitude: float, weight: float) -> dict[str, str]:
    return {"amplitude": str(amplitude), "weight": str(weight)}


def _study() -> Iterable[Configuration]:
    """All of them by one seed, then by the others."""
    settings = {name: (name, {}) for name in STUDIED}
    settings |= {f"afa+{name}": ("afa", {"main": name}) for name in COMBINED}
    for seed in range(SEEDS):
        again = f"-seed{seed}" if seed else ""
        for name, (method, given) in settings.items():
            recipe = {**PAPER, "seed": seed}
            yield Configuration(f"{STUDY}-{name}{again}", STUDY, method, given, recipe)


def plan() -> list[Configuration]:
    bands = ("standard", "augmix", "patch_gaussian")
    trio = {"standard": None, "gauss_single": "gauss_single", "ant": "ant", "ant3x3": "ant"}
    others = {
        "augmix": {},
        "patch_gaussian": {},
        "gauss_mult": {"sigmas": _severities("gaussian_noise")},
        "speckle": {"sigmas": _severities("speckle_noise")},
        "patch_uniform": {},
        "stability": stability(0.05, 0.05),
        "alp": {},
        "noise2net": {},
        "groupwise_inhibition": {},
    }
    found = [Configuration(f"band-{name}", "bands", name, recipe=PAPER) for name in bands]
    found += [
        Configuration(f"tune-{method}-{value}", "tuning", method, {setting: value})
        for method, setting in TUNED.items()
        for value in _candidates(method)
    ]
    found += [
        Configuration(name, "methods", name, chosen_for=tuned) for name, tuned in trio.items()
    ]
    found.append(Configuration(STYLISED, "methods", "ant", chosen_for="ant", stylised=True))
    found += [
        Configuration(f"fine-{name}", FINE_TUNED, name, recipe=FINE, chosen_for=tuned,
                      init_of=STANDARD)
        for name, tuned in trio.items()
        if tuned
    ]  # fmt: skip
    found.append(Configuration(REPEATED, "repeats", STANDARD, recipe=ANOTHER_SEED))
    found += [
        Configuration("antialias", "architecture", "standard", recipe={"antialias": 3}),
        Configuration("blur_after_conv", "architecture", "standard",
                      recipe={"blur_after_conv": True}),
    ]  # fmt: skip
    found += [Configuration(name, "methods", name, settings) for name, settings in others.items()]
    found.append(Configuration(UNDEFENDED, "defences", "standard", of=STANDARD))
    found += [
        Configuration(f"standard+{name}", "defences", "standard", of=STANDARD,
                      defend=f"{name}:{SOURCE}" if name == ADAPTED else name)
        for name in DEFENCES
    ]  # fmt: skip
    found += [
        Configuration(f"stability-u{amplitude}-w{weight}", "grid", "stability", settings)
        for amplitude in AMPLITUDES
        for weight in WEIGHTS
        if (settings := stability(amplitude, weight)) != others["stability"]
    ]  # fmt: skip
    return [*found, *_study()]


def select(words: Sequence[str]) -> list[Configuration]:
    """Configurations by names, groups and patterns such as tune-*; all if nothing is said."""
    everything = plan()
    found: dict[str, Configuration] = {}
    for word in words or ["*"]:
        fitting = [c for c in everything if word == c.group or fnmatchcase(c.name, word)]
        if not fitting:
            raise unknown("configuration", word, [c.name for c in everything])
        found |= {c.name: c for c in fitting}
    return list(found.values())


def chosen(errors: Mapping[str, float], method: str) -> str | None:
    """The candidate with the smallest validation error, by configuration; none before all have
    been measured."""
    candidates = [c for c in plan() if c.group == "tuning" and c.method == method]
    if any(candidate.name not in errors for candidate in candidates):
        return None
    best = min(candidates, key=lambda candidate: errors[candidate.name])
    return best.settings[TUNED[method]]
