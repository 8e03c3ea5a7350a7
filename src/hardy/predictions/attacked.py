"""What an attack left in a run's folder: `attack-ant.json`, numbers and small pictures."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from hardy.errors import InputError
from hardy.predictions.fields import (
    TABLE,
    TEXT,
    WHOLE,
    Field,
    all_of,
    check_fields,
    is_whole,
)
from hardy.predictions.store import StoredRun
from hardy.whole import whole_file

VERSION = 1
FILES = "attack-*.json"


class Measured(NamedTuple):
    """With its 95 % interval."""

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
    noise: str  # "ant" or "ant3x3"
    epsilon: float
    values: int  # of an image
    images: int  # it was measured on
    fitted_on: str
    steps: int
    seed: int
    clean: Measured
    adversarial: Measured  # accuracy at epsilon
    gaussian: Measured  # the same under Gaussian noise of that norm
    difference: Measured  # adversarial − gaussian, image by image
    median_distance: Measured  # of the smallest that spoils the answer; `values` where none does
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
        """Worse for the model than Gaussian noise of the same norm, and not by chance."""
        return self.difference.high < 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_picture(value: Any) -> bool:
    try:
        return bool(base64.b64decode(value, validate=True))
    except (TypeError, ValueError):
        return False


_NUMBER = Field("a finite number", _is_number)
_MEASURED = Field(
    "a value and its interval, three finite numbers",
    lambda value: all_of(_is_number)(value) and len(value) == 3,
)
_NUMBERS = Field("a list of finite numbers", all_of(_is_number))
_COUNT = Field("a whole number from 0", lambda value: is_whole(value, least=0))
_PICTURES = Field("a list of pictures in base64", all_of(_is_picture))
_PAIRS = Field(
    "a list of pairs of pictures in base64",
    all_of(lambda pair: all_of(_is_picture)(pair) and len(pair) == 2),
)
FIELDS = {
    **dict.fromkeys(("model", "noise", "fitted_on"), TEXT),
    **dict.fromkeys(("values", "images"), WHOLE),
    **dict.fromkeys(("steps", "seed", "never"), _COUNT),
    **dict.fromkeys(
        ("clean", "adversarial", "gaussian", "difference", "median_distance"), _MEASURED
    ),
    **dict.fromkeys(("edges", "shares"), _NUMBERS),
    "epsilon": _NUMBER,
    **dict.fromkeys(("patches", "gaussian_patches"), _PICTURES),
    "samples": _PAIRS,
    "session": TABLE,
}


def write_attack(folder: Path, attacked: Attacked) -> Path:
    path = folder / FILES.replace("*", attacked.noise)
    content = {"hardy_attack": VERSION, **asdict(attacked)}
    with whole_file(path) as file:
        file.write(json.dumps(content, indent=1, allow_nan=False).encode())
    return path


def read_attacks(run: StoredRun) -> tuple[Attacked, ...]:
    """Those on a run's model, by the kind of noise."""
    return tuple(_read(path) for path in sorted(run.folder.glob(FILES)))


def _read(path: Path) -> Attacked:
    todo = "delete it, and `hardy eval` with --attack makes it again"
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: expected JSON, but {error}; {todo}") from error
    version = content.get("hardy_attack") if isinstance(content, dict) else None
    if version != VERSION:
        raise InputError(f"{path}: expected an attack of version {VERSION}, got {version}; {todo}")
    check_fields(content, FIELDS, str(path), todo)
    if len(content["edges"]) != len(content["shares"]) + 1:
        raise InputError(f"{path}: edges: expected one more than shares; {todo}")
    return Attacked(**{one.name: _plain(one.name, content) for one in fields(Attacked)})


def _plain(name: str, content: Mapping[str, Any]) -> Any:
    return Measured(*content[name]) if FIELDS[name] is _MEASURED else content[name]
