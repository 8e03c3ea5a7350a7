"""What several commands have in common: their options, lists on the line, progress, bad news."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from hardy.catalogue import names
from hardy.errors import InputError, printable
from hardy.images.readers import READERS
from hardy.progress import watch

Item = TypeVar("Item")

_SOURCE = typer.Option(metavar="SRC", help=f"One of {', '.join(READERS)}; see `hardy ls readers`.")
SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="See `hardy ls suites`.")]
Images = Annotated[str, _SOURCE]
MaybeImages = Annotated[str | None, _SOURCE]
Labels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Labels of images that bring none.")
]
Only = Annotated[
    str, typer.Option(metavar="NAMES", help="Such as fog,snow; counted, validation or all.")
]
Severities = Annotated[
    str | None, typer.Option(metavar="NUMBERS", help="Such as 1,3; all if left out.")
]
Subset = Annotated[
    int | None, typer.Option(metavar="N", help="A fixed part, classes in proportion.")
]
Seed = Annotated[int, typer.Option(min=0, help="Another seed, other randomness.")]
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="Such as cpu or cuda:1; the best if left out.")
]
TrainPrecision = Annotated[
    str | None, typer.Option(help="float32 or bfloat16; the latter on a GPU if left out.")
]
TrainBatch = Annotated[int, typer.Option(help="Images per step.")]
LearningRate = Annotated[float, typer.Option(help="Learning rate at the start.")]


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = words(text)
    # isdecimal also takes digits of other scripts, and so does int.
    if not parts or not all(part.isdecimal() for part in parts):
        raise InputError(f'expected --severities such as 1,3, got "{text}"')
    return [int(part) for part in parts]


def progress(unit: str) -> Callable[[list[Item]], Iterable[Item]]:
    return lambda items: watch(items, len(items), unit)


def tell(reason: str) -> None:
    """On stderr."""
    typer.echo(printable(reason), err=True)


def list_faults(faults: Sequence[str], thing: str, done: str = "used") -> None:
    """On stderr: how many things could not be used, and why each."""
    things = thing if len(faults) == 1 else f"{thing}s"
    typer.secho(f"{len(faults):,} {things} could not be {done}:", fg="red", err=True)
    typer.echo("\n".join(f"  {printable(reason)}" for reason in faults), err=True)


def end_with_faults(faults: Sequence[str], thing: str, done: str = "used") -> None:
    """With any, the exit code is 1."""
    if faults:
        list_faults(faults, thing, done)
        raise typer.Exit(1)


class NamingCommand(TyperCommand):
    """A command whose help lists what can be named: in any of its texts, {methods} stands for the
    names of `hardy ls methods`. They are read, with plug-ins, when somebody asks for help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        texts: list[Any] = [self, *self.params]
        for one in texts:
            if text := getattr(one, "help", None):
                one.help = re.sub(r"{(\w+)}", lambda match: ", ".join(_names(match[1])), text)
        super().format_help(ctx, formatter)


def _names(kind: str) -> list[str]:
    return [entry.name for entry in names(kind)]


@contextmanager
def resumable(then: str = "the same command resumes") -> Iterator[None]:
    """Work that Ctrl-C stops; `then` is what the same command does, if it does not resume."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is finished is kept, and {then}", err=True)
        raise typer.Exit(130) from None
