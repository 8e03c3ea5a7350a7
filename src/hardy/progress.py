"""A progress bar with rate and remaining time on stderr, where somebody watches it."""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


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
