"""A checkpoint of a training: all that a resumed run needs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from hardy.errors import HardyError, InputError
from hardy.models.weight_files import packed, unpacked
from hardy.progress import Item, Track
from hardy.train.method import Method
from hardy.train.record import run_hash, share_unreadable, streams_of, write_unreadable
from hardy.train.run_folder import Log, check_log, epochs_in, write_log, write_whole
from hardy.train.streaming import Stream

if TYPE_CHECKING:
    from hardy.train.loop import Training

# A kill within a long epoch costs no more than this.
WITHIN_SECONDS = 180.0
# Several processes agree after so many steps whether it is time: their clocks do not.
AGREE_STEPS = 32


def learned_weights(net: nn.Module, method: Method) -> dict[str, nn.Parameter]:
    """All that is trained: the net's weights, and what the method has beside it."""
    beside = {f"method {name}": weight for name, weight in method.learned_beside().items()}
    return dict(net.named_parameters()) | beside


class Saver:
    """Saves checkpoints beside the training: of a copy on the host, by a thread. What goes wrong
    there is raised by the next call, and at the end."""

    def __init__(self, path: Path, terminated: Callable[[], bool]) -> None:
        self.path, self.terminated = path, terminated
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="hardy_save")
        self._writing: Future[None] | None = None
        self._saved = time.monotonic()

    def after_step(self, training: Training) -> None:
        """Save within an epoch, now and then, and where this process is told to end."""
        if training.ranks.world > 1 and training.step % AGREE_STEPS:
            return
        training.seconds = time.perf_counter() - training.started
        self._save_if(training, time.monotonic() - self._saved >= WITHIN_SECONDS)

    def after_epoch(self, training: Training, due: bool) -> None:
        """Save after an epoch, if that is due, or where this process is told to end: an epoch may
        be too short for `after_step`."""
        self._save_if(training, due)

    def heeding(self, training: Training, track: Track) -> Track:
        """What a method does before an epoch cannot be saved halfway, and may take long: where this
        process is told to end, it ends there, and the last checkpoint stands."""
        every = 1 if training.ranks.world == 1 else AGREE_STEPS

        def until_told(items: Iterable[Item]) -> Iterator[Item]:
            for number, item in enumerate(items):
                told = self.terminated()
                if number % every == 0 and any(training.ranks.any_of(told, told, training.device)):
                    raise HardyError(
                        f"stopped by SIGTERM before the first step of epoch {training.epoch + 1}; "
                        "what was prepared for it is not saved, and the same command goes on after "
                        "the last checkpoint, or begins again where there is none"
                    )
                yield item

        def heeded(items: Iterable[Item], *shown: Any) -> Iterable[Item]:
            return track(until_told(items), *shown)

        return heeded

    def _save_if(self, training: Training, due: bool) -> None:
        ends = self.terminated() and training.epoch < training.hyper.epochs
        due, ends = training.ranks.any_of(due or ends, ends, training.device)
        if due:
            self.save(training)
        if ends:
            self.wait()
            step = f"step {training.step} of {training.steps} in epoch {training.epoch + 1}"
            where = step if training.step else f"epoch {training.epoch}"
            raise HardyError(
                f"stopped by SIGTERM; what was done is saved, and the same command goes on after "
                f"{where}"
            )

    def save(self, training: Training) -> None:
        """Save a checkpoint and the log; all processes must call this at once."""
        self.wait()
        training.check_losses()
        training.check_sound()
        share_unreadable(training)
        parts = {
            "net": training.net.state_dict(),
            "momentum": _momentum(training),
            "draw": training.draw.state(),
            "method": training.method.state(),
            "average": _average(training),
            "within": _within(training),
        }
        if training.ranks.first:
            copied = {
                f"{part}.{name}": tensor.detach().to("cpu", copy=True)
                for part, held in parts.items()
                for name, tensor in held.items()
            }
            notes = {
                "log": json.dumps(training.log),
                "run": run_hash(self.path.parent),
                "within": json.dumps({"step": training.step, "seconds": training.seconds}),
                "unreadable": json.dumps([one.unreadable.found for one in streams_of(training)]),
            }
            log = list(training.log)
            streams = streams_of(training)
            self._writing = self._pool.submit(self._write, copied, notes, log, streams)
        training.saved, training.saved_step = training.epoch, training.step
        self._saved = time.monotonic()

    def _write(
        self,
        tensors: Mapping[str, Tensor],
        notes: Mapping[str, str],
        log: Log,
        streams: Sequence[Stream],
    ) -> None:
        write_tensors(self.path, tensors, notes)
        write_unreadable(self.path.parent, streams)
        if log:
            write_log(self.path.parent, log)

    def wait(self) -> None:
        """Until what is being saved is on the disk."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, where: object) -> None:
        self._pool.shutdown(wait=True)
        if error is None:
            self.wait()


def _within(training: Training) -> dict[str, Tensor]:
    """What ends with an epoch, within one."""
    if not training.step:
        return {}
    seen = torch.tensor(float(training.seen), device=training.device)
    figures = torch.stack([training.total.double(), seen.double()])
    parts: dict[str, Mapping[Any, Tensor]] = {
        "feed": training.feed.state(),
        "lent": training.draw.lent_state(),
        "method": training.method.epoch_state(),
        "figures": dict(enumerate(training.ranks.gather(figures, training.device))),
        "buffers": dict(enumerate(training.ranks.gather(_buffers(training), training.device))),
    }
    return {f"{part}.{name}": held for part, all in parts.items() for name, held in all.items()}


def _buffers(training: Training) -> Tensor:
    """What batch norm remembers, which differs between processes until the epoch ends."""
    every = [held.double().flatten() for held in training.net.buffers()]
    return torch.cat(every) if every else torch.zeros(0, device=training.device)


def checkpoint_part(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """What a checkpoint calls by that name and a dot."""
    start = f"{name}."
    return {key[len(start) :]: t for key, t in tensors.items() if key.startswith(start)}


def _average(training: Training) -> dict[str, Tensor]:
    return {} if training.average is None else training.average.net.state_dict()


def _momentum(training: Training) -> dict[str, Tensor]:
    """The momentum of each weight; 0, which moves nothing, for those that are frozen."""
    state = training.optimizer.state
    return {
        name: state[weight]["momentum_buffer"] if weight in state else torch.zeros_like(weight)
        for name, weight in training.learned.items()
    }


def restore(training: Training, path: Path) -> None:
    tensors, notes = read_tensors(path)
    part = partial(checkpoint_part, tensors)
    try:
        if notes["run"] != run_hash(path.parent):
            raise ValueError("it was saved by another")
        net, momentum, own = part("net"), part("momentum"), part("method")
        _check_alike(net, training.net.state_dict())
        _check_alike(momentum, training.learned)
        _check_alike(own, training.method.state())
        average = part("average")
        _check_alike(average, _average(training))
        training.net.load_state_dict(net)
        if training.average is not None:
            training.average.net.load_state_dict(average)
        for name, weight in training.learned.items():
            buffer = torch.empty_like(weight).copy_(momentum[name])
            training.optimizer.state[weight]["momentum_buffer"] = buffer
        training.method.restore(own)
        training.draw.restore(part("draw"))
        within = json.loads(notes.get("within", '{"step": 0, "seconds": 0}'))
        step, seconds = within["step"], within["seconds"]
        rows = json.loads(notes["log"])
        training.log = [] if step and rows == [] else check_log(rows)
        done = len(epochs_in(training.log))
        if done > training.hyper.epochs:
            raise ValueError(f"its log is of {done} epochs")
        if step:
            _restore_within(training, part("within"), step, seconds)
        found = json.loads(notes.get("unreadable", "[]"))
        for stream, theirs in zip(streams_of(training), found, strict=False):
            stream.unreadable.found.update({int(row): str(theirs[row]) for row in theirs})
    except (KeyError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is no checkpoint of this run ({error!r}); delete it to begin anew"
        ) from error
    training.epoch = training.saved = done


def _restore_within(
    training: Training, within: dict[str, Tensor], step: int, seconds: float
) -> None:
    rank, done = training.ranks.rank, len(epochs_in(training.log))
    if not 0 < step < training.steps or done == training.hyper.epochs:
        raise ValueError(f"it was saved after step {step} of {training.steps}")
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"it was saved after {seconds} seconds")
    training.feed.restore(checkpoint_part(within, "feed"))
    training.method.restore_epoch(done, checkpoint_part(within, "method"))
    torch.Generator(training.device).set_state(within[f"lent.{rank}"])  # the epoch takes it
    total, seen = within[f"figures.{rank}"].tolist()
    mine = within[f"buffers.{rank}"].to(training.device)
    for held in training.net.buffers():
        part, mine = mine[: held.numel()], mine[held.numel() :]
        held.copy_(part.view_as(held))
    training.total.fill_(total)
    training.first_bad.fill_(training.steps)
    training.seen, training.seconds, training.within = int(seen), seconds, within
    training.step = training.saved_step = step


def _check_alike(found: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Refuse other types and shapes, which torch would cast and stretch without a word."""
    for name, tensor in own.items():
        its, ours = ((one.dtype, tuple(one.shape)) for one in (found[name], tensor))
        if its != ours:
            raise ValueError(f"{name} is {its} instead of {ours}")


def write_tensors(target: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    write_whole(target, packed(tensors, notes, target))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a checkpoint, and the notes beside them."""
    return unpacked(path, "delete it to begin anew")
