"""Hundreds of models over the same images: as many as fit are loaded, shown all images, and let go
of before the next ones are loaded. One that fails is left out, and the others go on."""

import gc
import sys
from collections.abc import Callable, Container, Sequence
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
from hardy.store.claims import Claims, stored_details
from hardy.store.identity import Identity
from hardy.store.reader import StoredRun, open_run
from hardy.store.records import CLAIMS, read_details
from hardy.store.run_names import RunNames
from hardy.store.sessions import sweep


class Candidate(NamedTuple):
    """A model that is not loaded yet."""

    label: str
    load: Callable[[], Model]
    names: Callable[[str], RunNames]  # those of its run, by the name of the loaded model


class ModelGroups:
    """Many models, in the order in which they were asked for."""

    def __init__(self, basis: Evaluation, candidates: Sequence[Candidate], copies: int) -> None:
        """`basis` is the evaluation of none of them; of each, there will be so many `copies`."""
        self._basis = basis
        self._candidates = candidates
        self._copies = copies
        self._next = 0
        self.failures = basis.failures
        self.known: dict[str, str] = {}  # names by what identifies their runs, the first of each
        self.asked: list[tuple[str, str]] = []  # the same, of all names, in order
        self._claims: Claims | None = None  # those before this call, once they are asked for
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
        group, names = self._fill()
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
                names=names,
                elsewhere=elsewhere,
                group=words,
            )
        )
        for own in names.values():
            for twin in own.twins if own.own in self.failures else ():
                self.failures.setdefault(twin, self.failures[own.own])

    def _fill(self) -> tuple[list[tuple[Candidate, Model]], dict[str, RunNames]]:
        """Load models until no more fit, or one comes that is shown images in another way. One that
        is there already is let go of, and adds its name to the other's."""
        group: list[tuple[Candidate, Model]] = []
        names: dict[str, RunNames] = {}
        there: dict[str, str] = {}  # names of those in the group, by what identifies their runs
        room = MemoryRoom(self._basis.subject, self._copies)
        while self._next < len(self._candidates) and not room.full:
            candidate = self._candidates[self._next]
            try:
                run, own, model = self._load(candidate, there)
            except Exception as error:
                if group and _lacks_memory(error):
                    break  # by itself it may fit
                self.failures.note(self._told_apart(candidate.label), error)
                self._next += 1
                continue
            if group and model is not None and _way(model) != _way(group[0][1]):
                break
            self._next += 1
            self.known.setdefault(run.hash(), own.own)
            self.asked.append((run.hash(), own.own))
            if model is not None:
                there[run.hash()] = own.own
                names[own.own] = own
                group.append((candidate, model))
                room.take(model)
            elif first := there.get(run.hash()):
                names[first] = names[first].and_twin(own)
            else:
                self.complete.append(run.folder_in(self._basis.store))
        return group, names

    def _load(
        self, candidate: Candidate, there: Container[str]
    ) -> tuple[Identity, RunNames, Model | None]:
        """What identifies the run of a model that can be loaded, is not there twice and knows the
        classes; and the model, if it has anything to do, and answers: it has not where its run is
        complete, or `there` already."""
        model = candidate.load()
        subject = self._shown_to((model,))
        own_classes = self._basis.own_classes
        check_different(
            [model],
            subject,
            own_classes=own_classes,
            known=self.known,
            taken=self._names(),
            sampled=self._basis.sampled is not None,
        )
        replace(self._basis, models=(model,)).check_classes(subject)
        identity = identify_run(model, subject, own_classes=own_classes)
        names = candidate.names(model.name)
        if identity.hash() in there:
            return identity, names, None
        if self._is_complete(subject, identity, names):
            folder = identity.folder_in(self._basis.store)
            sweep(folder)  # a kill may have come after the last prediction
            keep_worst(folder, subject, anew=False)
            return identity, names, None
        rehearse([model], subject, Failures())
        return identity, names, model

    def _shown_to(self, models: tuple[Model, ...]) -> Subject:
        return mixed(models, self._basis.subject.near(models))

    def _is_complete(self, subject: Subject, identity: Identity, names: RunNames) -> bool:
        """Whether all that is asked for is stored already, under the name that is asked for."""
        folder = identity.folder_in(self._basis.store)
        if read_details(folder) is None:
            return False
        try:
            run = open_run(folder)
            whole = run.complete(self._basis.subject.cells)
        except InputError:
            return False  # whoever opens it to go on will say what is wrong
        done = {id for id, is_whole in zip(run.ids, whole, strict=True) if is_whole}
        # Of names that users give one model in one call, the first is the run's.
        is_renamed = names.given and identity.hash() not in self.known
        known = (run.model,) if is_renamed else run.names
        if printable(names.own) not in known or not self._holds(run, names):
            return False
        shard = self._basis.shard
        return all(
            id in done
            for row, id in enumerate(subject.ids)
            if shard is None or shard.has(subject.block_of(row))
        )

    def _holds(self, run: StoredRun, names: RunNames) -> bool:
        """Whether it was evaluated by what was typed, and no other run was later."""
        if self._claims is None:
            self._claims = Claims(stored_details(self._basis.store))
        claims = run.details[CLAIMS]
        for name, place in ((printable(name), place) for name, place in names.typed):
            by_it = place in claims.get(name, ()) or (not place and name in run.names)
            if not by_it or not self._claims.hold(run.details, name):
                return False
        return True

    def _told_apart(self, label: str) -> str:
        """A label that is no other model's name."""
        return f"{label} (number {self._next + 1})" if label in self._names() else label

    def _names(self) -> list[str]:
        return [name for _, name in self.asked]


def _way(model: Model) -> object:
    """The order in which images are shown to a model, and where they are made."""
    facts = facts_of(model)
    return facts.adapts_in, model.device if facts.takes_tensors else "cpu"


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether it, or what led to it, is that there was no memory."""
    if error is None:
        return False
    return isinstance(error, MemoryError) or out_of_memory(error) or _lacks_memory(error.__cause__)
