"""Long work can be followed: a `Track` counts its steps, and `watch` shows them to a person.

A call from Python shows a bar in a terminal or a notebook, and nothing where stderr goes elsewhere;
`track=untracked` turns it off. The command line asks for plain lines where there is no terminal.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Protocol, TypeVar

Item = TypeVar("Item")

PAUSE = 5.0  # seconds from one plain line to the next
speaks = False  # also where stderr is no terminal: the command line says so


def one(item: object) -> int:
    """The usual amount: each item counts as one."""
    return 1


class Track(Protocol):
    """Hands every item on, and may count it: `amount(item)` towards a total of `unit`s."""

    def __call__(
        self,
        items: Iterable[Item],
        total: int,
        unit: str = "",
        amount: Callable[[Item], int] = one,
        /,
    ) -> Iterable[Item]: ...


def untracked(
    items: Iterable[Item], total: int, unit: str = "", amount: Callable[[Item], int] = one, /
) -> Iterable[Item]:
    """The `Track` that shows nothing."""
    return items


def watch(
    items: Iterable[Item], total: int, unit: str = "", amount: Callable[[Item], int] = one, /
) -> Iterable[Item]:
    """The `Track` that shows a bar with rate and time left in a terminal or a notebook.

    Elsewhere it shows nothing, but for the command line: a plain line every few seconds. An item is
    counted once it has been used.
    """
    if sys.stderr.isatty() or _in_notebook(with_widgets=True):
        return _bar(items, total, unit, amount)
    if speaks or _in_notebook():
        return _lines(items, total, unit, amount)
    return items


def mention(line: str) -> None:
    """Say on stderr what a person would else wait for in silence."""
    if speaks or sys.stderr.isatty() or _in_notebook():
        print(line, file=sys.stderr, flush=True)


def in_time(seconds: float) -> str:
    """5400 as 1 h 30 min."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _in_notebook(*, with_widgets: bool = False) -> bool:
    """Whether IPython's kernel runs this; bars need ipywidgets there."""
    return "ipykernel" in sys.modules and (not with_widgets or find_spec("ipywidgets") is not None)


def _lines(
    items: Iterable[Item], total: int, unit: str, amount: Callable[[Item], int]
) -> Iterator[Item]:
    began = last = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += amount(item)
        now = time.monotonic()
        if now - last >= PAUSE and 0 < done < total:
            last = now
            left = in_time((now - began) / done * (total - done))
            print(f"{done:,} of {total:,} {unit}, about {left} left", file=sys.stderr, flush=True)


def _bar(
    items: Iterable[Item], total: int, unit: str, amount: Callable[[Item], int]
) -> Iterator[Item]:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.description}  {task.fields[rate]}"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=total, rate="")
        for item in items:
            yield item
            speed = bar.tasks[task].speed
            bar.update(task, advance=amount(item), rate=f"{speed:.1f}/s" if speed else "")
