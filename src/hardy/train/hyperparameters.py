"""The hyperparameters of a run: net, optimiser, length, precision; and the learning rate."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from hardy import schema
from hardy.engine.keys import check_seed
from hardy.errors import InputError
from hardy.registry import unknown

SCHEDULES = ("cosine", "step")
TRAINING_PRECISIONS = ("float32", "bfloat16")
POLICIES = ("cifar", "imagenet")  # of AutoAugment
LOWEST_LR = 1e-6
_LARGEST_ALPHA = 1000.0  # beyond it every mixture is half and half
MOST = 1_000_000  # epochs, or images in a batch
LARGEST_FLOAT = (2 - 2.0**-23) * 2.0**127  # in float32, as weights and their steps are


@dataclass(frozen=True)
class Hyperparameters:
    """The defaults are those of AugMix for CIFAR and WRN-40-2. The learning rate falls along a
    cosine, in each step, or in steps: to a tenth after each third of the epochs, or after those
    that `drops` counts. A run's record holds all of this under "recipe"."""

    net: str = "wrn_40_2"
    antialias: int = 1
    blur_after_conv: bool = False
    epochs: int = 100
    batch: int = 128
    lr: float = 0.1
    schedule: str = "cosine"
    momentum: float = 0.9
    weight_decay: float = 5e-4
    precision: str = "float32"
    deterministic: bool = False
    seed: int = 0
    label_smoothing: float = 0.0  # of each target, shared out evenly among all classes
    mixup: float = 0.0  # α of Beta(α, α), by which images and targets are mixed; 0: not at all
    mixup_each: bool = False  # whether each image has a share of its own, not each batch
    warmup: float = 0.0  # epochs in which the learning rate rises to what the schedule says
    ema: float = 0.0  # how much of the average of the weights a step keeps; 0: no average
    accumulate: int = 1  # parts in which a batch goes through the net
    nesterov: bool = True  # his kind of momentum
    drops: tuple[float, ...] = ()  # epochs after which the learning rate falls to a tenth
    autoaugment: str | None = None  # the policy that all images pass

    def __post_init__(self) -> None:
        object.__setattr__(self, "drops", tuple(self.drops))  # of a file, it is a list
        check_seed(self.seed)
        for name in ("epochs", "batch"):
            if not 1 <= getattr(self, name) <= MOST:
                raise InputError(f"expected {name} from 1 to {MOST:,}, got {getattr(self, name)}")
        if not self.lr > 0:  # also no number
            raise InputError(f"expected a learning rate above 0, got {self.lr}")
        if not 0 < self.momentum < 1:  # Nesterov's needs some
            raise InputError(f"expected `momentum` between 0 and 1, got {self.momentum}")
        if not self.weight_decay >= 0:
            raise InputError(f"expected a weight decay of at least 0, got {self.weight_decay}")
        for name, figure in (("learning rate", self.lr), ("weight decay", self.weight_decay)):
            if figure > LARGEST_FLOAT:
                raise InputError(
                    f"expected a {name} of at most {LARGEST_FLOAT:.2g}, float32's largest, got "
                    f"{figure:g}"
                )
        self._check_additions()
        for kind, value, known in (
            ("schedule", self.schedule, SCHEDULES),
            ("precision", self.precision, TRAINING_PRECISIONS),
        ):
            if value not in known:
                raise unknown(kind, value, known)
        if self.autoaugment is not None and self.autoaugment not in POLICIES:
            raise unknown("policy of AutoAugment", self.autoaugment, POLICIES)

    def _check_additions(self) -> None:
        for name in ("label_smoothing", "ema"):
            if not 0 <= getattr(self, name) < 1:  # also no number
                raise InputError(f"expected `{name}` from 0 to below 1, got {getattr(self, name)}")
        if not 0 <= self.mixup <= _LARGEST_ALPHA:
            raise InputError(f"expected `mixup` from 0 to {_LARGEST_ALPHA}, got {self.mixup}")
        if self.mixup_each and not self.mixup:
            raise InputError("expected `mixup`, such as 1, with `mixup_each`, got it alone")
        if not 0 <= self.warmup < self.epochs:
            raise InputError(
                f"expected `warmup` from 0 to below the {self.epochs} epochs, got {self.warmup}"
            )
        if not 1 <= self.accumulate <= self.batch:
            raise InputError(
                f"expected `accumulate` from 1 to the batch of {self.batch}, got {self.accumulate}"
            )
        drops = list(self.drops)
        if drops and self.schedule != "step":
            raise InputError(f'expected `drops` with the `schedule` "step", got {self.schedule}')
        if not all(drop > 0 for drop in drops) or drops != sorted(set(drops)):
            told = ",".join(f"{drop:g}" for drop in drops)
            raise InputError(f"expected `drops` as numbers of epochs that rise, got {told}")


# Those that a training may be asked for; the others are the machine's, or the net's.
HYPERPARAMETERS = tuple(
    name
    for name in Hyperparameters.__dataclass_fields__
    if name not in ("antialias", "blur_after_conv", "precision", "deterministic", "seed")
)
# What older records do not have: they were written by a loop that had none of it.
ADDED = (
    *("label_smoothing", "mixup", "mixup_each", "warmup", "ema", "accumulate", "nesterov"),
    *("drops", "autoaugment"),
)


def with_additions(recipe: Any) -> Any:
    """The recipe of an older record, with what its loop did about options that have come since: as
    if nothing had been said."""
    if not schema.TABLE.fits(recipe):
        return recipe
    usual = json.loads(json.dumps(asdict(Hyperparameters())))  # tuples are lists, as in files
    return {name: usual[name] for name in ADDED} | recipe


def learning_rate(hyper: Hyperparameters, step: int, steps: int) -> float:
    """The learning rate in step 0, 1, ... of `steps` in all: the schedule's, times a share that
    rises from 0 to 1 in the epochs of the warm-up."""
    warm = hyper.warmup * steps / hyper.epochs
    risen = min(1.0, (step + 1) / warm) if warm else 1.0
    if hyper.schedule == "cosine":
        low = min(LOWEST_LR, hyper.lr)
        return risen * (low + (hyper.lr - low) * (1 + math.cos(math.pi * step / steps)) / 2)
    fallen = 3 * step // steps
    if hyper.drops:
        fallen = sum(step >= drop * steps / hyper.epochs for drop in hyper.drops)
    return risen * hyper.lr * 0.1**fallen


def best_device(device: str | None, precision: str | None) -> tuple[str, str]:
    """The device and precision that were named, else the best there are: bfloat16 on a GPU."""
    import torch  # not needed to list the names above

    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return chosen, precision or ("bfloat16" if chosen.startswith("cuda") else "float32")
