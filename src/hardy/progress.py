"""How long work shows itself: what follows it, and a bar on stderr where somebody watches."""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Track(Protocol):
    """Follows work: hands every item on, and may count it, of a total in a unit."""

    def __call__(self, items: Iterable[Item], total: int, unit: str = "", /) -> Iterable[Item]: ...


def untracked(items: Iterable[Item], total: int, unit: str = "", /) -> Iterable[Item]:
    """The `Track` of those who do not watch."""
    return items


def watch(
    items: Iterable[Item], total: int, unit: str, amount: Callable[[Item], int] = lambda item: 1
) -> Iterator[Item]:
    """The items; each counts `amount` of the total once it has been used."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}  {task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=total, rate="")
        for item in items:
            yield item
            speed = bar.tasks[task].speed
            bar.update(task, advance=amount(item), rate=f"{speed:.1f}/s" if speed else "")
