"""Who shares a run: processes, one for each device, or a cluster; and what a process must see to
use just one device."""

import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from hardy.errors import InputError, need
from hardy.execute import Crew, RayCrew, Team, processors
from hardy.schema import brief

_EXPECTED = '"all", numbers of GPUs such as "0,1,3", or "cpu" for each process on the host'
_BESIDE_A_GPU = 4  # processors that read images for it
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
    """The devices that a user asked for; one that is named twice is shared by two processes."""
    if not isinstance(devices, Iterable):
        raise InputError(f"expected devices as {_EXPECTED}, got {brief(str(devices))}")
    words = devices.split(",") if isinstance(devices, str) else [str(one) for one in devices]
    words = [word.strip().removeprefix("cuda:") for word in words if word.strip()]
    if words == ["all"]:
        words = [str(number) for number in range(_gpus())] or ["cpu"] * processors()
    if words and set(words) == {"cpu"}:
        each = str(max(1, processors() // len(words)))
        return DevicePlaces("cpu", ({**dict.fromkeys(_THREADS, each), _VISIBLE: ""},) * len(words))
    if not words or not all(word.isdecimal() for word in words):
        raise InputError(f"expected devices as {_EXPECTED}, got {brief(devices)}")
    there = _gpus()
    if absent := [word for word in words if int(word) >= there]:
        found = f"{there} GPUs (0 to {there - 1})" if there else "no GPU"
        raise InputError(f"expected GPUs that torch finds, got {absent[0]}; it finds {found}")
    names = os.environ.get(_VISIBLE, "").split(",")
    seen = names if names != [""] else [str(number) for number in range(there)]
    return DevicePlaces("cuda", tuple({_VISIBLE: seen[int(word)]} for word in words))


class Sharing(NamedTuple):
    """Who does the blocks of a run, and where the models are."""

    team: Team
    device: str | None  # as models are told there
    here: str | None  # and in this process
    threads: int  # of each worker
    neighbours: int  # workers on one machine


def find_sharing(
    *,
    devices: str | Iterable[int | str] | None,
    on: str | None,
    device: str | None,
    workers: int | None,
    warn: Callable[[str], None],
) -> Sharing | None:
    """Who does the blocks; None where this process does them all."""
    if on is not None:
        if devices is not None:
            raise InputError(f"expected `devices` or `on`, got both: {devices} and {on}")
        return share_on(on, device=device, workers=workers, warn=warn)
    if devices is None:
        return None
    if device is not None:
        raise InputError(f"expected `device` or `devices`, got both: {device} and {devices}")
    found = find_places(devices)
    return Sharing(
        Crew(found.places, warn), found.device, found.device, found.threads, len(found.places)
    )


def share_on(
    on: str,
    *,
    device: str | None,
    workers: int | None = None,
    once: bool = False,
    warn: Callable[[str], None],
) -> Sharing:
    """The workers of a cluster, each with a GPU and some processors, or with processors alone; for
    `once` see `feed`."""
    gpu = device.startswith("cuda") if device is not None else _gpus() > 0
    threads = workers or (_BESIDE_A_GPU if gpu else 1)
    team = RayCrew(on, cpus=threads, gpus=int(gpu), once=once, warn=warn)
    crowd = (_gpus() if gpu else processors() // threads) or 1  # as on this machine
    there = "cuda" if gpu and device else device  # each sees but one
    return Sharing(team, there, there if not gpu or _gpus() else "cpu", threads, crowd)


def _gpus() -> int:
    """How many GPUs torch finds; none where there is no torch."""
    if importlib.util.find_spec("torch") is None:
        return 0
    return int(need("torch", "torch", "a run on several GPUs").cuda.device_count())
