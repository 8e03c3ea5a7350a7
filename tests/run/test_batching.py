"""Blocks of images: in pieces for a device, whole for the host, and never far ahead of the use."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.execute import Executor, Serial, Threads
from hardy.execute.executor import AHEAD
from hardy.run import subject as subjects
from hardy.run.batching import PIECES, Prefetch
from hardy.run.selection import open_subject
from hardy.run.subject import Subject
from hardy.suites import load
from hardy.variants.generated import Generated
from tests.suites.helpers import write_rows

BLOCKS = [np.arange(40), np.arange(40, 80), np.arange(80, 87)]


@pytest.fixture
def subject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    """A subject of a device, in blocks of 48, which is pieces of 3."""
    monkeypatch.setattr(subjects, "MOST_ON_DEVICE", 3 * PIECES)
    found = open_subject(load("cifar10_c"), images=write_rows(tmp_path, 87), only=["fog"])
    return replace(found, device="cuda:0")


@pytest.fixture
def read(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were read at a time."""
    sizes: list[int] = []
    really = Subject.read

    def counted(self: Subject, rows: Any) -> Any:
        sizes.append(len(rows))
        return really(self, rows)

    monkeypatch.setattr(Subject, "read", counted)
    return sizes


@pytest.mark.parametrize("executor", [Serial(), Threads(4)])
def test_pieces_make_the_block(subject: Subject, executor: Executor) -> None:
    with closing(Prefetch(subject, BLOCKS, executor)) as reading:
        for rows in BLOCKS:
            found, expected = reading.block(), subject.load(rows)
            assert found.rows.tolist() == rows.tolist()
            assert found.pixels.tolist() == expected.pixels.tolist()
            assert found.chunk is not None
            assert expected.chunk is not None
            for cell in subject.cells:
                np.testing.assert_array_equal(found.chunk.make(cell), expected.chunk.make(cell))
            reading.take_ahead(0.6)


def test_pieces_of_the_next_block_are_taken_by_and_by(subject: Subject, read: list[int]) -> None:
    with closing(Prefetch(subject, BLOCKS, Serial())) as reading:
        reading.block()
        assert read == [3] * 13 + [1]
        reading.take_ahead(0.25)
        assert len(read) == 14 + 3
        reading.take_ahead(0.25)
        assert len(read) == 14 + 3
        reading.take_ahead(1.0)
        assert len(read) == 14 + 14
        reading.block()
        assert len(read) == 14 + 14
        reading.block()
        assert read[28:] == [3, 3, 1]
        reading.take_ahead(1.0)  # there is none


def test_the_host_takes_whole_blocks_and_none_ahead(subject: Subject, read: list[int]) -> None:
    with closing(Prefetch(replace(subject, device=None), BLOCKS, Serial())) as reading:
        reading.block()
        reading.take_ahead(0.99)
        assert read == [40]


def test_a_block_lacks_what_cannot_be_read_in_any_of_its_pieces(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = Generated.read

    def some(self: Generated, index: int) -> Any:
        if index in (2, 39) or index >= 80:
            raise InputError("cannot read it")
        return really(self, index)

    monkeypatch.setattr(Generated, "read", some)
    with closing(Prefetch(subject, BLOCKS, Threads(2))) as reading:
        first, _, last = reading.block(), reading.block(), reading.block()
    assert first.rows.tolist() == [row for row in range(40) if row not in (2, 39)]
    assert first.faults == {2: "cannot read it", 39: "cannot read it"}
    assert last.chunk is None
    assert sorted(last.faults) == list(range(80, 87))


def test_few_pieces_are_under_way_at_a_time(subject: Subject) -> None:
    """Threads that ran on would hold up the one that serves the device, and fill the memory."""
    begun = 0

    class Counted(Threads):
        def run(self, setup: Any, items: Any) -> Any:
            def counted() -> Any:
                nonlocal begun
                for item in items:
                    begun += 1
                    yield item

            return super().run(setup, counted())

    with closing(Prefetch(subject, BLOCKS, Counted(2))) as reading:
        reading.take_ahead(0.1)
        assert begun == 1 + 2 * AHEAD
