"""What several commands share: options, lists typed with commas, lists of faults, Ctrl-C."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

import hardy
from hardy.errors import InputError, printable

Item = TypeVar("Item")


def complete(kind: str | None) -> Callable[[str], list[str]]:
    """A function by which the shell completes names of a kind, as `hardy ls` lists them."""

    def offer(incomplete: str) -> list[str]:
        return [one.name for one in hardy.names(kind) if one.name.startswith(incomplete)]

    return offer


_SOURCE = typer.Option(metavar="SRC", help="Images: {readers}; see `hardy ls readers`.")
Images = Annotated[str, _SOURCE]
MaybeImages = Annotated[str | None, _SOURCE]
SuiteName = Annotated[
    str,
    typer.Argument(
        metavar="SUITE", help="See `hardy ls suites`.", autocompletion=complete("suites")
    ),
]
Labels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Labels, where the images come without.")
]
Only = Annotated[
    str,
    typer.Option(metavar="NAMES", help="Corruptions such as fog,snow; or {suites.cells:GROUPS}."),
]
Severities = Annotated[
    str | None, typer.Option(metavar="NUMBERS", help="Such as 1,3 or 1-3; all if left out.")
]
Subset = Annotated[
    int | None,
    typer.Option(metavar="N", help="Use N images only, the same each time, classes in proportion."),
]
OwnClasses = Annotated[
    bool, typer.Option("--own-classes", help="Labels are the images' own, not the suite's.")
]
Preprocess = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="How it takes pixels: {models.normalisations:NORMALISATIONS}."
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Another seed gives other randomness.")]
Device = Annotated[
    str | None, typer.Option(metavar="NAME", help="Such as cpu or cuda:1; the best if left out.")
]
On = Annotated[
    str | None,
    typer.Option(metavar="WHERE", help="Share it on Ray: ray, auto, HOST:PORT or ray://HOST:PORT."),
]
AtMost = Annotated[
    str | None,
    typer.Option(metavar="N", help="With --until: so many predictions, or a time as 10m."),
]
Like = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="NAME",
        help="A training of a paper: see `hardy ls trainings`.",
        autocompletion=complete("trainings"),
    ),
]
MostUnreadable = Annotated[
    str, typer.Option(metavar="SHARE", help="Of the images that are read, may be damaged.")
]
TrainPrecision = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="{train.hyperparameters:TRAINING_PRECISIONS}; bfloat16 on a GPU if left out.",
    ),
]


def share(text: str) -> float:
    """A share such as 0.001 or 0.1%."""
    number, percent, rest = text.partition("%")
    try:
        return float(number) / (100 if percent else 1) if not rest else float(text)
    except ValueError:
        raise InputError(
            f'expected --most-unreadable as a share such as 0.1%, got "{text}"'
        ) from None


def words(text: str) -> list[str]:
    """Split what was typed with commas: "fog, snow" is two words."""
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(text: str | None) -> list[int] | None:
    """Numbers that were typed with commas, among them ranges: "1,3-5"; each once."""
    if text is None:
        return None
    found: list[int] = []
    for part in words(text) or [""]:
        ends = re.fullmatch("([0-9]{1,2})(?:-([0-9]{1,2}))?", part)
        between = range(int(ends[1]), int(ends[2] or ends[1]) + 1) if ends else range(0)
        if not between:
            raise InputError(f'expected --severities such as 1,3-5, got "{text}"')
        found += between
    return list(dict.fromkeys(found))


# Where an option is not called as the argument of the Python function is.
_SPELLED = {"like": "--as", "settings": "--set", "preprocessing": "--preprocess"}


def _spelled(name: str) -> str:
    return _SPELLED.get(name, f"--{name.replace('_', '-')}")


def in_options(text: str) -> str:
    """A message of a Python function for a terminal: the arguments that it names, such as
    `own_classes=True`, are spelled as options, --own-classes."""
    return printable(re.sub(r"`([a-z_]+)(?:=([^`]*))?`", _option, text))


def _option(argument: re.Match[str]) -> str:
    name, value = argument.groups()
    option = _spelled(name)
    return option if value in (None, "True") else f"{option} {value}"


def refuse_given(context: typer.Context, reason: str, *names: str) -> None:
    """Refuse options that were typed and would do nothing."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"expected no {_spelled(name)} {reason}")


def tell(reason: str) -> None:
    """Print a line on stderr."""
    typer.echo(in_options(reason), err=True)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    typer.secho(f"WARNING: {in_options(text)}", fg="yellow", err=True)


def list_faults(faults: Sequence[str], thing: str, done: str = "used") -> None:
    """Print on stderr how many things could not be used, and why."""
    things = thing if len(faults) == 1 else f"{thing}s"
    typer.secho(f"{len(faults):,} {things} could not be {done}:", fg="red", err=True)
    typer.echo("\n".join(f"  {in_options(reason)}" for reason in faults), err=True)


def end_with_faults(faults: Sequence[str], thing: str, done: str = "used") -> None:
    """List the faults, if there are any; the exit code is then 1."""
    if faults:
        list_faults(faults, thing, done)
        raise typer.Exit(1)


class NamingCommand(TyperCommand):
    """A command whose help lists what can be named: in any of its texts, {methods} stands for the
    names of `hardy ls methods`, {room.module:NAMES} for those of that list, or of the list that
    such a function returns. They are read, with plug-ins, when somebody asks for help."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that comes twice and takes one value: the last would win unsaid."""
        order: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]
        for option in order:
            times = order.count(option)
            if times > 1 and not option.multiple and not option.is_flag:
                raise InputError(f"expected {option.opts[-1]} once, got it {times} times")
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for one in _with_help(self, *self.params):
            one.help = re.sub(r"{([\w.]+)(?::(\w+))?}", _listed, one.help)
        _keep_brackets(self)
        super().format_help(ctx, formatter)


class PlainGroup(TyperGroup):
    """The program itself, whose help shows flags as its commands do."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _plain(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for command in (self, *self.commands.values()):
            _keep_brackets(command)
        super().format_help(ctx, formatter)


def _keep_brackets(command: Any) -> None:
    """Typer takes what stands in brackets, as in hardy[torch], for the markup of Rich."""
    if command.rich_markup_mode == "rich":
        for one in _with_help(command, *command.params):
            one.help = re.sub(r"(?<!\\)\[(?=[a-z#/@])", r"\[", one.help)


def _with_help(*texts: Any) -> list[Any]:
    return [one for one in texts if getattr(one, "help", None)]


def _plain(params: Sequence[Any]) -> list[Any]:
    """Help names what is typed, not what Python makes of it: no <bool> behind a flag, which
    takes no value, and no <str> behind an argument."""
    for one in params:
        if one.param_type_name == "argument":
            one.display_type_rich = lambda ctx: None
        elif one.is_flag:
            one.metavar = ""
    return list(params)


def _listed(place: re.Match[str]) -> str:
    if place[2] is None:
        return ", ".join(entry.name for entry in hardy.names(place[1]))
    listed = getattr(import_module(f"hardy.{place[1]}"), place[2])
    return ", ".join(listed() if callable(listed) else listed)


@contextmanager
def resumable(then: str = "the same command resumes") -> Iterator[None]:
    """Ctrl-C stops the work with a line that says what the same command will do `then`."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is finished is kept, and {then}", err=True)
        raise typer.Exit(130) from None
