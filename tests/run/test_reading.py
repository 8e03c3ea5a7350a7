"""Who reads the images of a run."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFile

from hardy import evaluation
from hardy.errors import InputError
from hardy.evaluation import evaluate
from hardy.execute import Serial, Threads
from hardy.execute.array_processes import can_send_arrays
from hardy.images.folders import FolderSource
from hardy.images.recipes import RECIPES
from hardy.run.reading import (
    ReadingProcesses,
    begin_reading_processes,
    clean_reader,
    piece_reader,
    reading_executor,
)
from hardy.run.selection import open_subject
from hardy.run.subject import Subject
from hardy.suites import load
from hardy.variants.generated import Generated
from tests.run.test_device import GPU, Linear, on_device
from tests.store.stores import contents_hash
from tests.suites.helpers import write_photos, write_rows

__all__ = ["on_device"]

pytestmark = pytest.mark.skipif(not can_send_arrays(), reason="no socket can be handed over here")
MANY = 5  # workers, of which threads would wait for each other


def test_photographs_for_a_device_are_read_by_processes(tmp_path: Path) -> None:
    photos = write_photos(tmp_path / "val", 4)
    subject = open_subject(load("imagenet_c"), images=photos, own_classes=True)
    processes = begin_reading_processes(subject, MANY)
    assert isinstance(processes, ReadingProcesses)
    there = replace(subject, device="cuda:0")
    assert reading_executor(there, MANY, processes) is processes
    assert isinstance(reading_executor(subject, MANY, processes), Threads)
    assert isinstance(reading_executor(there, MANY, None), Threads)
    assert isinstance(reading_executor(there, 1, None), Serial)
    assert begin_reading_processes(subject, 4) is None


@pytest.mark.parametrize(("there", "asked", "begun"), [(96, None, 16), (96, 20, 20), (8, None, 8)])
def test_as_many_processes_as_asked_for_or_enough(
    there: int, asked: int | None, begun: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    monkeypatch.setattr("hardy.run.reading.processors", lambda: there)
    monkeypatch.setattr(ReadingProcesses, "begin", lambda self: counted.append(self.workers))
    subject = open_subject(
        load("imagenet_c"), images=write_photos(tmp_path / "val", 24), own_classes=True
    )
    begin_reading_processes(subject, asked)
    few = open_subject(
        load("imagenet_c"), images=write_photos(tmp_path / "few", 3), own_classes=True
    )
    begin_reading_processes(few, asked)
    assert counted == [begun, 3]


def test_arrays_are_not_sent_to_processes(tmp_path: Path) -> None:
    subject = open_subject(load("cifar10_c"), images=write_rows(tmp_path, 20))
    assert begin_reading_processes(subject, MANY) is None


@pytest.mark.parametrize("suite", ["imagenet_c", "imagenet_p"])
def test_what_processes_read_is_what_is_read_here(suite: str, tmp_path: Path) -> None:
    photos = write_photos(tmp_path / "val", 6)
    broken = sorted(photos.rglob("*.*"))[2]
    broken.write_bytes(b"no image")
    subject = open_subject(load(suite), images=photos, own_classes=True)
    parts = np.split(np.arange(len(subject)), 3)
    processes = begin_reading_processes(subject, MANY)
    assert processes is not None
    here = list(Serial().run(piece_reader(subject), parts))
    there = list(processes.run(piece_reader(subject), parts))
    for one, other in zip(here, there, strict=True):
        assert one.rows == other.rows
        assert one.faults == other.faults
        np.testing.assert_array_equal(one.pixels, other.pixels)
        for image, same in zip(one.images, other.images, strict=True):
            assert (image.file, image.shape) == (same.file, same.shape)
            np.testing.assert_array_equal(image.pixels, same.pixels)
    assert sum(len(piece.faults) for piece in there) == 1
    clean = list(processes.run(clean_reader(subject), range(len(subject))))
    assert [image is None for image in clean].count(True) == 1


def test_what_is_set_in_pillow_is_set_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = write_photos(tmp_path / "val", 4)
    cut = next(iter(sorted(photos.rglob("*.*"))))
    cut.write_bytes(cut.read_bytes()[:-40])
    subject = open_subject(load("imagenet_c"), images=photos, own_classes=True)
    processes = begin_reading_processes(subject, MANY)
    assert processes is not None

    def faults() -> list[str]:
        read = processes.run(piece_reader(subject), [np.arange(len(subject))])
        return [fault for piece in read for fault in piece.faults.values()]

    assert len(faults()) == 1
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert faults() == []
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    assert len(faults()) == len(subject)


def test_what_pillow_warns_of_is_heard_and_may_be_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = open_subject(
        load("imagenet_c"), images=write_photos(tmp_path / "val", 3), own_classes=True
    )
    processes = begin_reading_processes(subject, MANY)
    assert processes is not None
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 60_000)  # it warns of more, and refuses twice it
    rows = np.arange(len(subject))
    for executor in (Threads(MANY), processes):
        with pytest.warns(Image.DecompressionBombWarning):
            (piece,) = executor.run(piece_reader(subject), [rows])
        assert not piece.faults
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            (piece,) = executor.run(piece_reader(subject), [rows])
        assert len(piece.faults) == len(rows)


class OfAScript(FolderSource):
    """Stands for a class that is written in a script."""


def recipe_of_a_script(monkeypatch: pytest.MonkeyPatch) -> Any:
    known = RECIPES["resize256_crop224@1"]
    monkeypatch.setitem(RECIPES._objects, "mine@1", replace(known, name="mine@1"))
    return lambda made: replace(made, suite=replace(made.suite, recipe="mine@1"))


def source_of_a_script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys.modules["__main__"], "OfAScript", OfAScript, raising=False)
    monkeypatch.setattr(OfAScript, "__module__", "__main__")
    return with_source(OfAScript)


def source_that_does_not_travel(monkeypatch: pytest.MonkeyPatch) -> Any:
    class OfAFunction(FolderSource):
        pass

    return with_source(OfAFunction)


def with_source(kind: type[FolderSource]) -> Any:
    def change(made: Generated) -> Generated:
        fields = {one.name: getattr(made.source, one.name) for one in dataclasses.fields(kind)}
        return replace(made, source=kind(**fields))

    return change


@pytest.mark.parametrize(
    ("of_a_script", "why"),
    [
        (recipe_of_a_script, 'unknown recipe "mine@1"'),
        (source_of_a_script, "Can't get attribute 'OfAScript'"),
        (source_that_does_not_travel, "OfAFunction"),
    ],
)
def test_threads_read_what_a_script_adds(
    of_a_script: Any, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = write_photos(tmp_path / "val", 4)
    subject = open_subject(load("imagenet_c"), images=photos, own_classes=True)
    subject = replace(subject, variants=of_a_script(monkeypatch)(subject.variants))
    told: list[str] = []
    processes = begin_reading_processes(subject, MANY, told.append)
    assert processes is not None
    for _ in range(2):
        (piece,) = processes.run(piece_reader(subject), [np.arange(len(subject))])
        assert (piece.rows, piece.faults) == ([0, 1, 2, 3], {})
    assert [image is None for image in processes.run(clean_reader(subject), range(4))] == 4 * [
        False
    ]
    (line,) = told
    assert "threads read the images" in line
    assert why in line


def test_an_image_is_left_out_only_if_threads_cannot_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = write_photos(tmp_path / "val", 4)
    subject = open_subject(load("imagenet_c"), images=photos, own_classes=True)
    processes = begin_reading_processes(subject, MANY)
    assert processes is not None
    list(processes.run(clean_reader(subject), range(4)))
    broken = sorted(photos.rglob("*.*"))[2]
    broken.write_bytes(b"no image")
    really = Subject.read

    def whole_again(self: Subject, rows: Any) -> Any:  # as after a fault of the disk
        broken.write_bytes(sorted(photos.rglob("*.*"))[0].read_bytes())
        return really(self, rows)

    monkeypatch.setattr(Subject, "read", whole_again)
    (piece,) = processes.run(piece_reader(subject), [np.arange(4)])
    assert (piece.rows, piece.faults) == ([0, 1, 2, 3], {})


@pytest.mark.parametrize("how", [{}, {"until": 5, "at_most": 5_000}])
def test_a_run_is_the_same(
    how: dict[str, int],
    tmp_path: Path,
    on_device: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    photos = write_photos(tmp_path / "val", 24)
    used: list[ReadingProcesses] = []
    really = ReadingProcesses.run

    def noted(self, setup, items):
        used.append(self)
        return really(self, setup, items)

    monkeypatch.setattr(ReadingProcesses, "run", noted)
    monkeypatch.setattr(Subject, "begin_kernels", lambda self: None)

    def run(store: str, on_gpu: bool) -> str:
        monkeypatch.setattr(evaluation.adapters, "will_be_on_gpu", lambda models, device: on_gpu)
        done = evaluate(
            Linear(2).to(GPU),
            suite="imagenet_c",
            images=photos,
            own_classes=True,
            only=["fog", "contrast"],
            store=tmp_path / store,
            workers=MANY,
            device=GPU,
            warn=lambda text: None,
            **how,
        )
        return contents_hash(done.stored)

    here = run("here", on_gpu=False)
    assert not used
    assert run("there", on_gpu=True) == here
    assert used


@pytest.mark.parametrize("dry_run", [True, False])
def test_no_process_stays_where_none_will_read(
    dry_run: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[ReadingProcesses] = []
    left: list[int] = []
    really = ReadingProcesses.begin

    def begin(self: ReadingProcesses) -> None:
        begun.append(self)
        really(self)

    def track(items: Any, *about: Any) -> Any:
        left.extend(len(processes._processes._begun) for processes in begun)
        return items

    monkeypatch.setattr(ReadingProcesses, "begin", begin)
    monkeypatch.setattr(Subject, "begin_kernels", lambda self: None)
    monkeypatch.setattr(evaluation.adapters, "will_be_on_gpu", lambda models, device: True)
    evaluate(
        Linear(2),  # on the host
        suite="imagenet_c",
        images=write_photos(tmp_path / "val", 4),
        own_classes=True,
        only=["contrast"],
        severities=1,
        store=tmp_path / "runs",
        workers=MANY,
        dry_run=dry_run,
        track=track,
    )
    assert len(begun) == (0 if dry_run else 1)
    assert set(left) == (set() if dry_run else {0})


def test_no_process_stays_when_a_run_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds the error, as a notebook does, holds all that its frames knew."""
    begun: list[ReadingProcesses] = []
    really = ReadingProcesses.begin

    def begin(self: ReadingProcesses) -> None:
        begun.append(self)
        really(self)

    monkeypatch.setattr(ReadingProcesses, "begin", begin)
    monkeypatch.setattr(Subject, "begin_kernels", lambda self: None)
    monkeypatch.setattr(evaluation.adapters, "will_be_on_gpu", lambda models, device: True)
    images = write_photos(tmp_path / "val", 4)
    with pytest.raises(InputError, match="unknown kind of model") as kept:
        evaluate("no:model", suite="imagenet_c", images=images, workers=MANY, own_classes=True)
    assert [processes._processes._begun for processes in begun] == [[]]
    assert kept.tb is not None


def test_threads_read_where_no_process_can_be_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def popen(*words: Any, **how: Any) -> Any:
        raise OSError(11, "Resource temporarily unavailable")

    told: list[str] = []
    subject = open_subject(
        load("imagenet_c"), images=write_photos(tmp_path / "val", 2), own_classes=True
    )
    monkeypatch.setattr("hardy.execute.array_processes.subprocess.Popen", popen)
    assert begin_reading_processes(subject, MANY, told.append) is None
    assert len(told) == 1
    assert "threads read the images" in told[0]
    assert "Resource temporarily unavailable" in told[0]
