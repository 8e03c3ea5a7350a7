"""What a model is to Hardy: bytes in, logits out, an identity, and facts that it says of itself."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from os.path import isfile
from pathlib import Path
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.limits import PIXELS
from hardy.models.class_order import Spellings
from hardy.models.normalisations import NORMALISATIONS
from hardy.registry import unknown
from hardy.schema import is_whole

Logits = npt.NDArray[np.float32]
Triple = tuple[float, float, float]

_INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos")
PRECISIONS = ("float32", "bfloat16", "float16")
AS_TRAINED = "as it was trained"  # the source of figures that leave no doubt
IMAGENET_MEAN, IMAGENET_STD, _ = NORMALISATIONS["torch"]


@dataclass(frozen=True)
class Preprocessing:
    """(x / 255 − mean) / std per channel, after both sides were resized to `size`.

    Suites make images of one size, 224 for ImageNet-C. A model that wants another gets the
    corrupted image resized (antialiased, back to 8 bits), as it would get the official files.
    """

    mean: Triple
    std: Triple
    size: int | None = None  # None: as it comes
    interpolation: str = "bilinear"
    source: str = field(default="given", compare=False)  # where these figures come from, in words
    exact: bool = False  # torch's modules too get Pillow's bytes; else ties may tip the other way
    bgr: bool = False  # blue comes first, after mean and std, which are those of red, green, blue

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            figures = tuple(float(figure) for figure in getattr(self, name))
            good = all(map(math.isfinite, figures)) and (name == "mean" or min(figures) > 0)
            if len(figures) != 3 or not good:
                raise InputError(
                    f"expected {name} as three figures, of red, green and blue in units of 0..1"
                    f"{', above 0' if name == 'std' else ''}; got {getattr(self, name)}"
                )
            object.__setattr__(self, name, figures)
        if self.size is not None:
            if self.size < 1:
                raise InputError(f"expected a size of at least 1 pixel, got {self.size}")
            PIXELS.check(self.size**2, f"images resized to {self.size}")
        if self.interpolation not in _INTERPOLATIONS:
            raise InputError(
                f"expected an interpolation of {', '.join(_INTERPOLATIONS)}, "
                f"got {self.interpolation!r}"
            )

    def __str__(self) -> str:
        resize = f"resize to {self.size} ({self.interpolation}), " if self.size else ""
        figures = [" ".join(f"{figure:g}" for figure in side) for side in (self.mean, self.std)]
        order = ", blue first" if self.bgr else ""
        return f"{resize}mean {figures[0]}, std {figures[1]}{order} ({self.source})"


@dataclass(frozen=True)
class Override:
    """The parts of preprocessing that a user sets; the rest stays the model's own."""

    mean: Triple | None = None
    std: Triple | None = None
    size: int | None = None
    named: str | None = None  # mean, std and the order of channels by name: `NORMALISATIONS`

    def __post_init__(self) -> None:
        if self.named is not None:
            if self.named not in NORMALISATIONS:
                raise unknown("preprocessing", self.named, NORMALISATIONS)
            if self.mean or self.std:
                raise InputError(
                    f'expected `preprocessing` by name, here "{self.named}", or `mean` and `std`, '
                    "got both"
                )
        for name in ("mean", "std"):
            figures = getattr(self, name)
            if figures and (min(figures) < 0 or max(figures) > 1):
                said = ",".join(f"{figure:g}" for figure in figures)
                raise InputError(
                    f"expected `{name}` in units of 0..1, got {said}; divide by 255 what is in "
                    "units of 0..255"
                )

    @property
    def normalises(self) -> bool:
        """Whether nothing is left to the model but its size."""
        return self.named is not None or (self.mean is not None and self.std is not None)

    def onto(self, own: Preprocessing) -> Preprocessing:
        said = {name: value for name, value in vars(self).items() if value is not None}
        if named := said.pop("named", None):
            size = "" if self.size is None else ", and the size"
            figures = NORMALISATIONS[named]._asdict()
            return replace(own, **said, **figures, source=f'"{named}", given{size}')
        rest = f", the rest {own.source}"
        if self.normalises:
            rest = ", the size the model's own" if own.size and not self.size else ""
        return replace(own, **said, source=f"given{rest}") if said else own


def as_override(preprocessing: Preprocessing | Override | str | None) -> Any:
    """What a user asks for; a name stands for what it overrides."""
    return Override(named=preprocessing) if isinstance(preprocessing, str) else preprocessing


PLAIN = "standard"  # the training method that adds nothing


@dataclass(frozen=True)
class Trained:
    """How `hardy train` made a model."""

    net: str
    methods: tuple[str, ...] | None = None  # None: unknown, since its weights began as others'

    def standalone(self, *, defended: bool) -> bool | None:
        """Whether a single technique makes it robust; None where no technique is known."""
        used = [one for one in self.methods or () if one != PLAIN]
        return len(used) == 1 and not defended if used else None


@dataclass(frozen=True)
class DefenceFacts:
    """One defence in front of a model: its name and setting as one types them, and what it does."""

    name: str
    setting: str | None
    words: str

    @property
    def label(self) -> str:
        """As one types it: "clahe" or "bn_adapt:16"."""
        return self.name if self.setting is None else f"{self.name}:{self.setting}"

    def __str__(self) -> str:
        return f"{self.label}: {self.words}" if self.words else self.label


def in_words(defences: Iterable[DefenceFacts]) -> str:
    return "; ".join(map(str, defences))


@dataclass(frozen=True)
class ModelFacts:
    """What a model says of itself, beyond what every model must have. None means: unknown."""

    class_names: tuple[str, ...] | None = None  # in the order of its outputs
    seen_corruptions: tuple[str, ...] | None = None  # those it was trained on
    trained_as: Trained | None = None
    trained_on: str | None = None  # images, as their source describes itself
    # What its training left out, such as "style:microsoft of Icons-50-R free".
    held_out: str | None = None
    # Clean top-1, as a fraction, that its library states for exactly these weights.
    known_accuracy: float | None = None
    weight_bytes: int = 0  # of memory that it takes as long as it is loaded, as far as it knows
    takes_tensors: bool = False  # `logits` takes tensors on its device, and answers with one
    adapts_in: int | None = None  # images whose statistics it takes together; None: each by itself
    prompts: str | None = None  # the sentences by which it is told its classes, in words
    defences: tuple[DefenceFacts, ...] = ()  # the one nearest to the model first
    found: str | None = None  # what it is, and whose classes it tells apart, as its files say
    doubts: tuple[str, ...] = ()  # warnings about how it was brought
    left_off: str | None = None  # the last layer, if features are asked for and it takes them
    weights_hash: str | None = None  # by its file, where several libraries may compute it
    backend: str | None = None  # the library that computes, where its kind leaves that open
    compiled: bool = False  # by torch.compile, which may change last bits


NO_FACTS = ModelFacts()


@runtime_checkable
class Model(Protocol):
    """Logits, not probabilities; a model that only has those gives their logarithms.

    A model may also have `facts`, a `ModelFacts`; `facts_of` reads them.
    """

    @property
    def name(self) -> str:
        """What the user typed: "timm:resnet50"."""

    @property
    def identity(self) -> str:
        """SHA-256 of all that changes the output: not of path, device or batch size."""

    @property
    def preprocessing(self) -> Preprocessing | None:
        """None: it takes the bytes as they are."""

    @property
    def device(self) -> str:
        """Such as "cpu" or "cuda:0"."""

    @property
    def precision(self) -> str:
        """One of `PRECISIONS`."""

    def logits(self, images: UInt8, preprocessing: Preprocessing | None = None) -> Logits:
        """uint8 (N, H, W, 3) -> float32 (N, K). `run.preflight.check` tries other preprocessing."""


# The parts that a model must have; where it lacks others, those of `OnHost` hold.
NEEDED = ("name", "identity", "preprocessing", "logits")


class OnHost:
    """What holds of a model that does not say where and how it computes."""

    device = "cpu"
    precision = "float32"


def completed(model: Any) -> Model:
    """The model itself, or a whole one of what a user's own class says."""
    if isinstance(model, Model):
        return model
    whole, parts = OnHost(), (*NEEDED, "device", "precision", "facts")
    vars(whole).update({part: getattr(model, part) for part in parts if hasattr(model, part)})
    return cast(Model, whole)


# Facts that a class of the user's own may also state as plain attributes.
_PLAIN_FACTS = ("class_names", "seen_corruptions", "known_accuracy", "takes_tensors", "adapts_in")


def facts_of(model: Model) -> ModelFacts:
    """What a model says of itself; a user's own class need not say anything.

    It may state them in `facts`, or as attributes of its own, such as `class_names`.
    """
    said: ModelFacts = getattr(model, "facts", NO_FACTS)
    plain = {name: getattr(model, name) for name in _PLAIN_FACTS if hasattr(model, name)}
    return replace(said, **plain)


@dataclass(frozen=True)
class Options:
    """The options of `load`, as adapters receive them."""

    name: str
    checkpoint: Path | None = None
    trust: bool = False
    device: str = "auto"
    precision: str = "float32"
    batch: int | Literal["auto"] = "auto"
    preprocessing: Preprocessing | Override | None = None
    side: int | None = None  # of the images it will see, where that is known
    classes: Spellings | None = None  # what their classes are called, likewise
    compile: bool = False  # by torch.compile
    prompts: str | None = None  # by which it is told its classes: a set's name, or a file
    backbone: bool = False  # only its features are wanted, so it need not have a classifier

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            words = ", ".join(PRECISIONS)
            raise InputError(f"expected a precision of {words}, got {self.precision!r}")
        if self.batch != "auto" and not is_whole(self.batch):
            raise InputError(f'expected a batch of at least 1 image or "auto", got {self.batch!r}')

    def prepared_as(self, own: Preprocessing) -> Preprocessing:
        """The model's own preprocessing, overridden by what was asked for."""
        if isinstance(self.preprocessing, Override):
            return self.preprocessing.onto(own)
        return self.preprocessing or own

    def refuse(self, **reasons: str) -> None:
        """Refuse options that an adapter cannot honour: silence would look like consent."""
        for option, reason in reasons.items():
            if getattr(self, option) != getattr(Options, option):
                raise InputError(f"{self.name} takes no {option}: {reason}")

    def check_cpu(self) -> None:
        """Refuse any other device, where an adapter has but this one."""
        if self.device not in ("auto", "cpu"):
            raise InputError(f"{self.name}: expected the device cpu, got {self.device!r}")


def digest(kind: str, parts: Mapping[str, object]) -> str:
    """An identity: the SHA-256 of its parts, each plain data, floats spelled out in full."""
    spelled = {
        name: _spelled(part) if isinstance(part, Preprocessing) else part
        for name, part in parts.items()
    }
    text = json.dumps({"kind": kind, **spelled}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _spelled(used: Preprocessing) -> list[object]:
    # What came later is left out where it is not so: older identities stay what they are.
    later = [*["exact"] * used.exact, *["bgr"] * used.bgr]
    return [used.mean, used.std, used.size, used.interpolation, *later]


def hash_files(paths: Iterable[Path]) -> str:
    together = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            together.update(hashlib.file_digest(file, "sha256").digest())
    return together.hexdigest()


def existing(path: Path, what: str) -> Path:
    if not isfile(path):
        raise InputError(f"expected {what}, got {path}, which is no file; check the path")
    return path
