"""A process per device: what one fails at, another does, and nothing is lost or done for ever."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hardy.errors import HardyError, InputError
from hardy.execute import Crew

TWO = [{"HARDY_TEST_PLACE": "left"}, {"HARDY_TEST_PLACE": "right"}]


def work(fails: str, how: str, folder: str) -> Callable[[int], tuple[int, str]]:
    """At one place it fails, once the other place has begun too."""
    place = os.environ["HARDY_TEST_PLACE"]
    Path(folder, place).touch()

    def do(item: int) -> tuple[int, str]:
        if place in fails.split():
            if how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise {"error": MemoryError, "said": InputError}[how]("no memory here")
        return item, place

    return do


@pytest.mark.parametrize("how", ["killed", "error"])
def test_another_does_what_one_fails_at(how: str, tmp_path: Path) -> None:
    told: list[str] = []
    found = list(Crew(TWO, told.append).run(partial(work, "left", how, str(tmp_path)), range(30)))
    assert sorted(item for item, _ in found) == list(range(30))
    assert {place for _, place in found} == {"right"}
    (line,) = told
    assert line.startswith("a worker failed (1 of 2, HARDY_TEST_PLACE=left: ")
    assert ("died" if how == "killed" else "MemoryError: no memory here") in line


def test_both_places_are_used(tmp_path: Path) -> None:
    found = list(Crew(TWO).run(partial(work, "", "", str(tmp_path)), iter(range(10))))
    assert sorted(item for item, _ in found) == list(range(10))
    assert {path.name for path in tmp_path.iterdir()} == {"left", "right"}


def test_none_is_left(tmp_path: Path) -> None:
    with pytest.raises(HardyError, match=r"no worker is left.*MemoryError: no memory.*is kept"):
        list(Crew(TWO).run(partial(work, "left right", "error", str(tmp_path)), range(9)))


def test_an_error_for_people_is_theirs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no memory here$"):
        list(Crew(TWO).run(partial(work, "left right", "said", str(tmp_path)), range(9)))
