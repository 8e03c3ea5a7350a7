"""Hundreds of models over the same images: as many as fit are loaded, shown all images, and let go
of before the next ones are loaded. One that fails is left out, and the others go on."""

import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hardy.engine.ops import out_of_memory
from hardy.errors import InputError, printable
from hardy.models import Model
from hardy.models.model import facts_of
from hardy.run.batching import mixed
from hardy.run.failures import Failures
from hardy.run.memory_room import MemoryRoom
from hardy.run.preflight import rehearse
from hardy.run.prepared import Evaluation
from hardy.run.runner import check_different, identify_run
from hardy.run.subject import Subject
from hardy.run.worst_choice import keep_worst
from hardy.store.identity import Identity
from hardy.store.reader import open_run
from hardy.store.records import read_details
from hardy.store.sessions import sweep


class Candidate(NamedTuple):
    """A model that is not loaded yet."""

    label: str
    load: Callable[[], Model]
    named: bool  # whether the user gave it a name


class ModelGroups:
    """Many models, in the order in which they were asked for."""

    def __init__(self, basis: Evaluation, candidates: Sequence[Candidate], copies: int) -> None:
        """`basis` is the evaluation of none of them; of each, there will be so many `copies`."""
        self._basis = basis
        self._candidates = candidates
        self._copies = copies
        self._next = 0
        self.failures = basis.failures
        self.known: dict[str, str] = {}  # names by what identifies their runs, in order
        self.complete: list[Path] = []  # runs that had all that is asked for

    def work(self, work: Callable[[Evaluation], None]) -> None:
        """Have the work done for one group after the other."""
        while self._next < len(self._candidates):
            self._work_once(work)
            gc.collect()  # modules refer to their parts, and these to them
            torch = sys.modules.get("torch")
            if torch is not None and torch.cuda.is_initialized():
                torch.cuda.empty_cache()

    def _work_once(self, work: Callable[[Evaluation], None]) -> None:
        """One group. Nothing of it outlives this call: what is loaded goes with its last name."""
        first = self._next
        group = self._fill()
        if not group:
            return
        models = tuple(model for _, model in group)
        elsewhere = self._basis.elsewhere
        if elsewhere is not None:
            loaders = {model.name: candidate.load for candidate, model in group}
            elsewhere = replace(elsewhere, loaders=loaders)
        words = f"models {first + 1}-{self._next} of {len(self._candidates)}"
        work(
            replace(
                self._basis,
                models=models,
                subject=self._shown_to(models),
                named=frozenset(model.name for candidate, model in group if candidate.named),
                elsewhere=elsewhere,
                group=words,
            )
        )

    def _fill(self) -> list[tuple[Candidate, Model]]:
        """Load models until no more fit, or one comes that is shown images in another way."""
        group: list[tuple[Candidate, Model]] = []
        room = MemoryRoom(self._basis.subject, self._copies)
        while self._next < len(self._candidates) and not room.full:
            candidate = self._candidates[self._next]
            try:
                model, is_complete = self._load(candidate)
            except Exception as error:
                if group and _lacks_memory(error):
                    return group  # by itself it may fit
                self.failures.note(self._told_apart(candidate.label), error)
                self._next += 1
                continue
            if group and _way(model) != _way(group[0][1]):
                return group
            self._next += 1
            run = self._identify(model)
            self.known[run.hash()] = model.name
            if is_complete:
                self.complete.append(run.folder_in(self._basis.store))
            else:
                group.append((candidate, model))
                room.take(model)
        return group

    def _load(self, candidate: Candidate) -> tuple[Model, bool]:
        """The model, if it can be loaded, is not there twice, knows the classes, and answers; and
        whether its run is complete."""
        model = candidate.load()
        subject = self._shown_to((model,))
        own_classes = self._basis.own_classes
        check_different([model], subject, own_classes=own_classes, known=self.known)
        replace(self._basis, models=(model,)).check_classes(subject)
        is_complete = self._is_complete(model, named=candidate.named)
        if is_complete:  # a kill may have come after the last prediction
            folder = self._identify(model).folder_in(self._basis.store)
            sweep(folder)
            keep_worst(folder, subject, anew=False)
        else:
            rehearse([model], subject, Failures())
        return model, is_complete

    def _shown_to(self, models: tuple[Model, ...]) -> Subject:
        return mixed(models, self._basis.subject.near(models))

    def _identify(self, model: Model) -> Identity:
        subject = self._shown_to((model,))
        return identify_run(model, subject, own_classes=self._basis.own_classes)

    def _is_complete(self, model: Model, *, named: bool) -> bool:
        """Whether all that is asked for is stored already, under the name that is asked for."""
        folder = self._identify(model).folder_in(self._basis.store)
        if read_details(folder) is None:
            return False
        try:
            run = open_run(folder)
            whole = run.complete(self._basis.subject.cells)
        except InputError:
            return False  # whoever opens it to go on will say what is wrong
        done = {id for id, is_whole in zip(run.ids, whole, strict=True) if is_whole}
        renamed = named and run.model != printable(model.name)
        subject, shard = self._shown_to((model,)), self._basis.shard
        return not renamed and all(
            id in done
            for row, id in enumerate(subject.ids)
            if shard is None or shard.has(subject.block_of(row))
        )

    def _told_apart(self, label: str) -> str:
        """A label that is no other model's name."""
        return f"{label} (number {self._next + 1})" if label in self.known.values() else label


def _way(model: Model) -> object:
    """The order in which images are shown to a model, and where they are made."""
    facts = facts_of(model)
    return facts.adapts_in, model.device if facts.takes_tensors else "cpu"


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether it, or what led to it, is that there was no memory."""
    if error is None:
        return False
    return isinstance(error, MemoryError) or out_of_memory(error) or _lacks_memory(error.__cause__)
