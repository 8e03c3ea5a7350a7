"""Records of attacks in a run's folder, `attack-ant-0123456789.json`: numbers and small pictures.

The digits tell attacks apart that differ in what decides their numbers.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.documents import check_record, read_json, seal, why_unread
from hardy.errors import HardyError, InputError
from hardy.files import whole_file
from hardy.schema import TABLE, TEXT, WHOLE, Field, all_of, is_number, is_whole
from hardy.store.reader import StoredRun

VERSION = 2
FILES = "attack-*.json"
DIGITS = 10
# Each is learned as the training method of its name does it, by convolutions of this side.
NOISES = {"ant": 1, "ant3x3": 3}


class Estimate(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def figure(self, digits: int = 1, sign: str = "") -> str:
        return f"{self.value:{sign}.{digits}f} [{self.low:.{digits}f} to {self.high:.{digits}f}]"


@dataclass(frozen=True)
class Attacked:
    """One model under one kind of noise that was learned against it. Accuracies are in percent,
    distances are L2 over the values of an image in 0..1. Pictures are WebP, in base64."""

    model: str
    noise: str  # one of the `NOISES`
    epsilon: float
    values: int  # of an image
    images: int  # it was measured on
    fitted_on: str
    fitted_hash: str  # of the pixels and labels it was fitted on, in any order
    measured_hash: str
    steps: int
    seed: int
    clean: Estimate
    adversarial: Estimate  # accuracy at epsilon
    gaussian: Estimate  # the same under Gaussian noise of that norm
    difference: Estimate  # adversarial − gaussian, image by image
    median_distance: Estimate  # of the smallest that spoils the answer; `values` where none does
    never: int  # images whose answer no distance spoils
    # Of the bins of the noise, in units of its root mean square; and of its values, in percent.
    edges: list[float] = field(repr=False)
    shares: list[float] = field(repr=False)
    # Noise at epsilon on grey, Gaussian noise of the same norm, images clean and with the noise.
    patches: list[str] = field(repr=False)
    gaussian_patches: list[str] = field(repr=False)
    samples: list[list[str]] = field(repr=False)
    session: dict[str, Any]

    @property
    def learned(self) -> bool:
        """Whether it hurts more than Gaussian noise of the same norm, and not by chance."""
        return self.difference.high < 0

    @property
    def digest(self) -> str:
        """A short hash of what decides the numbers of a model."""
        decisive = [self.noise, self.epsilon, self.steps, self.seed]
        text = json.dumps([*decisive, self.fitted_hash, self.measured_hash])
        return sha256(text.encode()).hexdigest()[:DIGITS]


def hash_set(pixels: npt.NDArray[np.uint64], labels: npt.NDArray[np.int64]) -> str:
    """A hash of images, given by their own hashes and labels: the same in any order."""
    pairs = sorted(zip(pixels.tolist(), labels.tolist(), strict=True))
    return sha256(json.dumps(pairs).encode()).hexdigest()


def _is_picture(value: Any) -> bool:
    try:
        return bool(base64.b64decode(value, validate=True))
    except (TypeError, ValueError):
        return False


_ESTIMATE = Field(
    "a value and its interval, three finite numbers",
    lambda value: all_of(is_number)(value) and len(value) == 3,
)
# What a file must hold follows from the types of the record.
_BY_TYPE = {
    "str": TEXT,
    "int": Field("a whole number from 0", lambda value: is_whole(value, least=0)),
    "float": Field("a finite number", is_number),
    "Estimate": _ESTIMATE,
    "list[float]": Field("a list of finite numbers", all_of(is_number)),
    "list[str]": Field("a list of pictures in base64", all_of(_is_picture)),
    "list[list[str]]": Field(
        "a list of pairs of pictures in base64",
        all_of(lambda pair: all_of(_is_picture)(pair) and len(pair) == 2),
    ),
    "dict[str, Any]": TABLE,
}
_ATTACK_FIELDS = {one.name: _BY_TYPE[str(one.type)] for one in fields(Attacked)}
_ATTACK_FIELDS |= dict.fromkeys(("values", "images"), WHOLE)


def write_attack(folder: Path, attacked: Attacked) -> Path:
    """Write the record; the same attack again replaces its own file, and no other's."""
    path = folder / FILES.replace("*", f"{attacked.noise}-{attacked.digest}")
    content = seal({"hardy_attack": VERSION, **asdict(attacked)})
    try:
        with whole_file(path) as file:
            file.write(json.dumps(content, indent=1, allow_nan=False).encode())
    except OSError as error:
        raise HardyError(
            f"{path} could not be written ({error.strerror}); measured were "
            f"{attacked.adversarial.figure()} % at ε {attacked.epsilon:.4g}, and "
            f"{attacked.gaussian.figure()} % under Gaussian noise. The predictions of clean images "
            "are kept, and the same command attacks again"
        ) from error
    return path


def read_attacks(run: StoredRun) -> tuple[Attacked, ...]:
    """The attacks on a run's model, sorted by the kind of noise, its norm and the steps."""
    found = [_read(path) for path in sorted(run.folder.glob(FILES))]
    return tuple(sorted(found, key=lambda one: (one.noise, one.epsilon, one.steps)))


def _read(path: Path) -> Attacked:
    todo = "delete it, and `hardy eval --attack` makes it again"
    try:
        content = read_json(path, "JSON", todo)
    except OSError as error:  # it has gone since it was listed
        raise InputError(f"{path}: expected JSON, but {why_unread(error)}; {todo}") from error
    version = content.get("hardy_attack") if isinstance(content, dict) else None
    if version != VERSION:
        raise InputError(f"{path}: expected an attack of version {VERSION}, got {version}; {todo}")
    content = check_record(content, _ATTACK_FIELDS, path, todo)
    if len(content["edges"]) != len(content["shares"]) + 1:
        raise InputError(f"{path}: edges: expected one more than shares; {todo}")
    return Attacked(**{one.name: _plain(one.name, content) for one in fields(Attacked)})


def _plain(name: str, content: Mapping[str, Any]) -> Any:
    return Estimate(*content[name]) if _ATTACK_FIELDS[name] is _ESTIMATE else content[name]
