"""Hundreds of models over the same images: a group at a time, and one that fails stops no other."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.execute import Crew, Serial
from hardy.models import Model
from hardy.models.model import ModelFacts
from hardy.run import groups, memory_room, prepared
from hardy.run import subject as subjects
from hardy.run.memory_room import MemoryRoom
from hardy.run.selection import open_subject
from hardy.store.reader import open_run
from hardy.store.worst_images import WORST, read_worst
from hardy.suites import load
from hardy.variants.generated import Generated
from tests.run.runs import Counting, load_model
from tests.store.stores import contents_hash
from tests.suites.helpers import write_rows

NAMES = [f"fake:10:{seed}" for seed in range(3)]
FEW: dict[str, Any] = {"suite": "cifar10_c", "only": "contrast", "severities": [1, 5]}
CELLS = 3


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects, "SMALL", 4)


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    return {**FEW, "images": write_rows(tmp_path, 10), "store": tmp_path / "many"}


class Broken(Counting):
    """A model that fails when it has seen so many images."""

    def __init__(self, name: str, after: int, error: Exception) -> None:
        super().__init__(name)
        self._after, self._error = after, error

    def logits(self, images, preprocessing=None):
        if self.seen >= self._after:
            raise self._error
        return super().logits(images)


@pytest.mark.parametrize("size", [1, 2])
def test_groups_make_the_runs_that_single_models_make(
    size: int, given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_room, "MOST", size)
    made: list[list[int]] = []
    chunk = Generated.chunk

    def counted(variants: Any, indices: list[int], images: Any) -> Any:
        if len(indices) > 1:  # one is a rehearsal's, or a picture of a mistake
            made.append(indices)
        return chunk(variants, indices, images)

    monkeypatch.setattr(Generated, "chunk", counted)
    groups: list[str] = []
    found = evaluate(models=NAMES, announce=lambda each: groups.append(each.group), **given)
    assert [run.model for run in found] == NAMES
    assert not found.failed
    assert groups[0] == f"models 1-{size} of 3"
    assert len(groups) == -(-3 // size)
    assert [len(block) for block in made] == [4, 4, 2] * len(groups)
    for name, run in zip(NAMES, found, strict=True):
        alone = evaluate(name, **{**given, "store": tmp_path / "alone"})
        assert contents_hash(run.stored) == contents_hash(alone.stored)


def test_a_model_that_fails_stops_no_other(given: dict[str, Any]) -> None:
    failing: list[Any] = [
        "onnx:none.onnx",
        "fake:9",
        Broken("fake:10:7", 0, RuntimeError("asleep\nand more")),
        # One image in each rehearsal; then it has seen one block of four under two cells.
        Broken("fake:10:8", 1 + 1 + 8, MemoryError()),
        "fake:10",
    ]
    models = ["fake:10", *failing, "fake:10:1"]
    found = evaluate(models=models, **given)
    assert [run.model for run in found] == ["fake:10", "fake:10:1"]
    assert [run.stored.complete(run.stored.cells).sum() for run in found] == [10, 10]
    assert {name: why.partition(",")[0] for name, why in found.failed.items()} == {
        "onnx:none.onnx": "expected an ONNX file",
        "fake:9": "expected logits for 10 classes",
        "fake:10:7": "RuntimeError: asleep",
        "fake:10:8": "MemoryError",
        "fake:10 (number 6)": "expected different models",
    }
    kept = open_run(next(Path(given["store"]).glob("fake-10-8--*")))
    assert sum(int(kept.complete([cell]).sum()) for cell in kept.cells) == 8


def test_a_model_that_fails_does_so_under_all_its_names(given: dict[str, Any]) -> None:
    first, twin = Broken("fake:10", 1 + 8, ValueError("asleep")), Counting("fake:10")
    twin.name = "its twin"
    found = evaluate(models=[first, twin, "fake:10:1"], **given)
    assert [run.model for run in found] == ["fake:10:1"]
    assert found.failed == dict.fromkeys(("fake:10", "its twin"), "ValueError: asleep")


def test_the_same_call_does_what_failed(given: dict[str, Any]) -> None:
    broken = Broken("fake:10:8", 1 + 1 + 8, InputError("no"))
    evaluate(models=["fake:10", broken, "fake:10:1"], **given)
    whole, again = Counting("fake:10"), Counting("fake:10:8")
    groups: list[tuple[str, ...]] = []
    found = evaluate(
        models=[whole, again, "fake:10:1"],
        announce=lambda each: groups.append(tuple(model.name for model in each.models)),
        **given,
    )
    assert not found.failed
    assert groups == [("fake:10:8",)]
    assert whole.seen == 0
    stored = 4 + 4  # shown again, to compare: the first block under its first and last cell
    assert again.seen == 1 + 1 + stored + 10 * CELLS - 8
    assert [run.model for run in found] == ["fake:10", "fake:10:8", "fake:10:1"]
    assert len({contents_hash(run.stored) for run in found}) == 3


def test_all_that_is_left_of_a_group_is_on_disk(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_room, "MOST", 2)
    loaded: list[weakref.ref[Model]] = []
    alive: list[int] = []

    def watched(model: str, **how: Any) -> Model:
        alive.append(sum(one() is not None for one in loaded))
        made = load_model(model, **how)
        loaded.append(weakref.ref(made))
        return made

    monkeypatch.setattr(prepared, "load_model", watched)
    evaluate(models=["fake:10:0", "fake:9", *NAMES[1:]], **given)
    assert alive == [0, 1, 1, 0]
    assert not any(one() for one in loaded)


def test_a_model_without_room_beside_others_is_tried_alone(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def large(model: str, **how: Any) -> Model:
        tries.append(model)
        if tries.count(model) == 1 and model == "fake:10:1":
            raise InputError("cannot be loaded") from MemoryError()
        return load_model(model, **how)

    monkeypatch.setattr(prepared, "load_model", large)
    groups: list[str] = []
    found = evaluate(models=NAMES, announce=lambda each: groups.append(each.group), **given)
    assert not found.failed
    assert tries == ["fake:10:0", "fake:10:1", "fake:10:1", "fake:10:2"]
    assert groups == ["models 1-1 of 3", "models 2-3 of 3"]


class Sized(Counting):
    facts = ModelFacts(weight_bytes=3 << 30)


def test_models_take_half_of_the_memory(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 20 << 30
    monkeypatch.setattr(memory_room, "available_memory", lambda: free)
    subject = open_subject(load("cifar10_c"), images=given["images"])
    room, shared = MemoryRoom(subject), MemoryRoom(subject, copies=3)
    assert not room.full
    fitting = 0
    while not room.full:
        room.take(Sized())
        free -= 3 << 30  # what is loaded is no longer there
        fitting += 1
    assert fitting == 3  # of 3 GiB each, in 10, with some room for notes
    free = 20 << 30
    shared.take(Sized())
    assert shared.full


def test_workers_leave_out_the_model_that_fails(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another process does, done here."""

    def breaking(model: str, **how: Any) -> Model:
        if model != "fake:10:8":
            return load_model(model, **how)
        return Broken(model, 8, RuntimeError("asleep"))

    monkeypatch.setattr(prepared, "load_model", breaking)

    class Here(Crew):
        def run(self, setup, items, settle=lambda: None):
            return Serial().run(setup, items)

    monkeypatch.setattr("hardy.run.device_places.Crew", Here)
    found = evaluate(models=["fake:10", "fake:10:8"], devices="cpu,cpu", **given)
    assert [run.model for run in found] == ["fake:10"]
    assert found.failed == {"fake:10:8": "RuntimeError: asleep"}
    assert found[0].stored.complete(found[0].stored.cells).all()
    kept = open_run(next(Path(given["store"]).glob("fake-10-8--*")))
    assert sum(int(kept.complete([cell]).sum()) for cell in kept.cells) == 8


def test_what_all_of_them_would_cost(given: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(memory_room, "MOST", 2)
    plan = evaluate(models=[*NAMES, "fake:9"], dry_run=True, **given)
    assert (plan.cells, plan.images, plan.predictions) == (CELLS, 10, 3 * 10 * CELLS)
    assert list(plan.failed) == ["fake:9"]
    assert not Path(given["store"]).exists()


def test_models_in_one_way(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected models by name, or by `models`, got both"):
        evaluate("fake:10", models=["fake:10"], **given)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="expected at least one model"):
        evaluate(suite="cifar10_c")  # type: ignore[call-overload]


def test_a_run_that_another_process_has_finished_meanwhile(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its claim to its name is none of those that were read before."""
    evaluate(NAMES[0], **given)
    really = groups.ModelGroups._load

    def load(self: Any, candidate: Any, there: Any) -> Any:
        evaluate(NAMES[1], **given)
        return really(self, candidate, there)

    monkeypatch.setattr(groups.ModelGroups, "_load", load)
    runs = evaluate(models=NAMES[:2], **given)
    assert runs.failed == {}
    assert [run.model for run in runs] == NAMES[:2]


def test_a_single_model_fails_as_before(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="asleep"):
        evaluate([Broken("fake:10", 5, ValueError("asleep")), "fake:10:1"], **given)


def test_what_a_kill_after_the_last_prediction_left_is_mended(given: dict[str, Any]) -> None:
    first, _ = evaluate(models=NAMES[:2], **given)
    whole, left = read_worst(first.folder), first.folder / "parts" / f"{'a' * 32}.parquet"
    (first.folder / WORST).unlink()
    left.write_bytes(b"listed by nobody")
    os.utime(left, (0, 0))
    evaluate(models=NAMES[:2], **given)
    assert read_worst(first.folder) == whole != []
    assert not left.exists()
