"""Which devices share a run, and what a process must see so that it uses just one of them."""

import importlib.util
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hardy.errors import InputError, need
from hardy.execute import processors
from hardy.schema import brief

_EXPECTED = '"all", numbers of GPUs such as "0,1,3", or "cpu" for each process on the host'
_VISIBLE = "CUDA_VISIBLE_DEVICES"
# Libraries that would take all processors for each process.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class DevicePlaces(NamedTuple):
    """So many devices of one kind, one for each process."""

    device: str  # as the model is told, in every process
    places: tuple[Mapping[str, str], ...]  # environment variables of each process

    @property
    def threads(self) -> int:
        """How many processors each process has for itself."""
        return max(1, processors() // len(self.places))


def find_places(devices: str | Iterable[int | str]) -> DevicePlaces:
    """The devices that a user asked for."""
    words = devices.split(",") if isinstance(devices, str) else [str(one) for one in devices]
    words = [word.strip().removeprefix("cuda:") for word in words if word.strip()]
    if words == ["all"]:
        words = [str(number) for number in range(_gpus())] or ["cpu"] * processors()
    if words and set(words) == {"cpu"}:
        each = str(max(1, processors() // len(words)))
        return DevicePlaces("cpu", ({**dict.fromkeys(_THREADS, each), _VISIBLE: ""},) * len(words))
    if not words or not all(word.isdecimal() for word in words) or len({*words}) < len(words):
        raise InputError(f"expected devices as {_EXPECTED}, got {brief(devices)}")
    there = _gpus()
    if absent := [word for word in words if int(word) >= there]:
        found = f"{there} GPUs (0 to {there - 1})" if there else "no GPU"
        raise InputError(f"expected GPUs that torch finds, got {absent[0]}; it finds {found}")
    names = os.environ.get(_VISIBLE, "").split(",")
    seen = names if names != [""] else [str(number) for number in range(there)]
    return DevicePlaces("cuda", tuple({_VISIBLE: seen[int(word)]} for word in words))


def _gpus() -> int:
    """How many GPUs torch finds; none where there is no torch."""
    if importlib.util.find_spec("torch") is None:
        return 0
    return int(need("torch", "torch", "a run on several GPUs").cuda.device_count())
