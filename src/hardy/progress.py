"""Long work can be followed: a `Track` counts its steps, and `watch` shows them on a terminal."""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")


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
) -> Iterator[Item]:
    """The `Track` that shows a bar with rate and time left, where stderr is a terminal.

    An item is counted once it has been used.
    """
    if not sys.stderr.isatty():
        yield from items
        return
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
