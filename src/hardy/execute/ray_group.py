"""Processes of Ray Train that do one work together, as those that `torchrun` starts."""

import json
import logging
import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hardy.errors import HardyError, InputError, need, told
from hardy.execute.ray_actor import SAID, UNFIT, make_actor_class
from hardy.execute.ray_crew import connected, environment, parcel_of, ray_address, whereabouts

_TRIES = 3  # of the whole work, when processes die
_PLACE = ".ray-"  # how the folder begins in which processes leave what became of them


class RayGroup:
    """So many processes on the machines of a cluster, which talk to one another by torch.

    Each has so many processors, and a GPU if the work is for one. None means as many as the cluster
    has GPUs, and one where it has none.
    """

    def __init__(
        self,
        on: str,
        processes: int | None,
        *,
        cpus: int = 1,
        gpu: bool = False,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        if processes is not None and processes < 1:
            raise InputError(f"expected at least 1 of `processes`, got {processes}")
        self._address = ray_address(on)
        os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
        self._ray = need("ray", "ray", "a run on Ray")
        self._torch = need("ray.train.torch", "ray", "training on Ray")
        self._processes, self._cpus, self._gpu = processes, cpus, gpu
        self._warn = warn

    def run(self, setup: Callable[[], Callable[[int], Any]], folder: Path) -> Any:
        """Have each process do the work that it is set up for, given its rank; what the first one
        returns, as JSON has it. All must see the folder. When one dies, all begin anew."""
        parcel = parcel_of(self._ray, setup)
        folder.mkdir(parents=True, exist_ok=True)
        with connected(self._ray, self._address, len(parcel)):
            processes = self._count()
            for left in reversed(range(_TRIES)):
                place = folder.absolute() / f"{_PLACE}{secrets.token_hex(8)}"
                place.mkdir()
                try:
                    self._fit(parcel, processes, place)
                    found = json.loads((place / "0").read_text())["what"]
                    for old in folder.glob(f"{_PLACE}*"):  # this one, and those of killed drivers
                        shutil.rmtree(old, ignore_errors=True)
                    return found
                except self._ray.train.TrainingFailedError as error:
                    _raise_said(place, error, last=not left)
                    self._warn(f"a process failed ({_first_line(error)}); all of them begin anew")
                finally:
                    shutil.rmtree(place, ignore_errors=True)
        raise AssertionError  # the last try returns or raises

    def _count(self) -> int:
        there = self._ray.cluster_resources()
        processes = self._processes or (int(there.get("GPU", 0)) if self._gpu else 1)
        kind, each = ("GPU", 1) if self._gpu else ("CPU", self._cpus)
        if processes * each > there.get(kind, 0) or not processes:
            self._warn(
                f"expected room for {processes or 1} processes in the cluster, but it has "
                f"{there.get(kind, 0):g} {kind}s; they wait until it has more"
            )
        return processes or 1

    def _fit(self, parcel: bytes, processes: int, place: Path) -> None:
        train = self._ray.train
        for name in ("ray.train", "ray.data", "ray.tune"):
            logging.getLogger(name).setLevel(logging.ERROR)
        resources = {"CPU": self._cpus, **({"GPU": 1} if self._gpu else {})}
        trainer = self._torch.TorchTrainer(
            _make_loop(),
            train_loop_config={
                "parcel": parcel,
                "driver": whereabouts(),
                "place": str(place),
                "class": make_actor_class(),
            },
            scaling_config=train.ScalingConfig(
                num_workers=processes, use_gpu=self._gpu, resources_per_worker=resources
            ),
            run_config=train.RunConfig(
                name="run",
                storage_path=str(place),
                worker_runtime_env={"env_vars": environment(self._cpus, int(self._gpu))},
            ),
        )
        trainer.fit()


def _make_loop() -> Callable[[dict[str, Any]], None]:
    """What each process does. Made within a function, so that Ray sends its code."""

    def loop(config: dict[str, Any]) -> None:
        import json
        import os

        import ray.train

        rank = ray.train.get_context().get_world_rank()
        worker = config["class"]()
        ended = worker.begin(config["parcel"], *config["driver"])
        if not os.path.isdir(config["place"]):
            raise RuntimeError(f"{ended[0]} does not see the folder {config['place']}")
        if ended[1] == "did":
            ended = worker.work(rank)
        where, how, what = ended
        if how == "said":
            what = [type(what).__name__, str(what)]
        with open(os.path.join(config["place"], f"{rank}"), "x") as file:
            json.dump({"where": where, "how": how, "what": what}, file)
        if how != "did":
            raise RuntimeError(f"{where}: {what}")

    return loop


def _raise_said(place: Path, error: Exception, *, last: bool) -> None:
    """Raise the first error that tells a person what to do, if there is one; or any, at the last
    try."""
    left = sorted(
        (path for path in place.glob("[0-9]*") if path.is_file()),
        key=lambda path: path.stat().st_mtime_ns,
    )
    for path in left:
        found = {"how": None}
        with suppress(ValueError):  # it was killed while it wrote
            found = json.loads(path.read_text())
        if found["how"] == SAID:
            kind, text = found["what"]
            told_kind = InputError if kind == "InputError" else HardyError
            raise told_kind(f"{found['where']}: {text}") from error
        if found["how"] == UNFIT:
            raise HardyError(f"{found['where']}: {found['what']}") from error
    if last:
        raise HardyError(
            f"processes failed {_TRIES} times, the last time so: {_first_line(error)}; what was "
            "saved is kept: see to the cause, then run the same command again"
        ) from error


def _first_line(error: Exception) -> str:
    failures = getattr(error, "worker_failures", None) or {}
    return told(next(iter(failures.values()), error))
