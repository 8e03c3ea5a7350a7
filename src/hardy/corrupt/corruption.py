"""What a corruption is: a draw and a formula under a name."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, Literal, get_args

from hardy.engine.ops import Array, Ops
from hardy.errors import InputError
from hardy.registry import Registry, summary
from hardy.suites.edition_files import BROUGHT, check_number

Fields = Mapping[str, Array]
Size = tuple[int, int]
Params = Mapping[str, float]
# Whether boxes and masks still fit: pixels may wander within and about objects, or objects leave.
Moves = Literal["nothing", "pixels", "objects"]


@dataclass(frozen=True)
class Corruption:
    """`draw` makes the random fields of a batch, `apply` is a pure function of images and fields.

    Both take the parameters of one severity by name; the edition files hold them, one row per
    severity. A corruption that is in no edition file brings its `rows` along, by edition.

    `apply` may also know other draws, one value per channel value: the reference's own, which
    `replay` can bring. Those that are `looked_up` in a table must be among what can be drawn.

    `moves` says what becomes of places: under "pixels" boxes and masks fit nearly, under "objects"
    they no longer fit.
    """

    name: str
    category: str
    parameters: tuple[str, ...]
    summary: str
    draw: Callable[..., Fields]  # (draws, size, **params)
    apply: Callable[..., Array]  # (ops, images, fields, **params)
    replays: tuple[str, ...] = ()
    looked_up: tuple[str, ...] = ()
    rows: Mapping[str, Sequence[Params]] = field(default_factory=dict)
    moves: Moves = "nothing"

    @cached_property
    def steps(self) -> frozenset[str]:
        """The names in its formula: among them the primitives and formulas that it calls."""
        code = getattr(self.apply, "__code__", None)
        return frozenset(code.co_names) if code else frozenset()


CORRUPTIONS: Registry[Corruption] = Registry("corruption", "hardy.corruptions", of=Corruption)
# Pixel formulas in plain array arithmetic; a backend may bring a fused version of the same name.
FORMULAS: dict[str, Callable[..., Array]] = {}


def parameters_of(formula: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a formula's keyword-only arguments."""
    arguments = inspect.signature(formula).parameters.values()
    return tuple(a.name for a in arguments if a.kind is a.KEYWORD_ONLY)


def no_draws(*_: object, **__: float) -> Fields:
    return {}


def corruption(
    category: str,
    draw: Callable[..., Fields] = no_draws,
    replays: tuple[str, ...] = (),
    looked_up: tuple[str, ...] = (),
    rows: Mapping[str, Sequence[Params]] | None = None,
    moves: Moves = "nothing",
) -> Callable[[Callable[..., Array]], Corruption]:
    """Register a formula under its own name; parameters are its keyword-only arguments.

    Another package brings `rows`, the parameters of each severity by edition, and names the result
    as an entry point of the group "hardy.corruptions":

        @corruption("weather", rows={"cifar": [{"share": s / 10} for s in range(1, 6)]})
        def dusk(ops, images, fields, *, share):
            '''x (1 - share)'''
            return ops.to_bytes(ops.unit(images, "float64") * (1 - share))
    """

    if moves not in get_args(Moves):
        raise InputError(f"expected moves among {', '.join(get_args(Moves))}, got {moves!r}")

    def register(apply: Callable[..., Array]) -> Corruption:
        about = (apply.__name__, category, parameters_of(apply), summary(apply))
        made = Corruption(*about, draw, apply, replays, looked_up, rows or {}, moves)
        _check_rows(made)
        CORRUPTIONS.add(made.name, made)
        if made.rows:
            BROUGHT.add(made.name, made)
        return made

    return register


def _check_rows(made: Corruption) -> None:
    for edition, rows in made.rows.items():
        where = f"{made.name}, edition {edition}"
        check_number(where, rows)
        for row in rows:
            if set(row) != set(made.parameters):
                raise InputError(
                    f"{where}: expected rows of the formula's parameters "
                    f"{', '.join(made.parameters) or 'none'}, got {', '.join(row) or 'none'}"
                )


def formula(plain: Callable[..., Array]) -> Callable[..., Array]:
    """A pixel formula, written once; where the backend has it fused, the fused pass runs."""
    name = plain.__name__
    FORMULAS[name] = plain

    @wraps(plain)
    def call(ops: Ops, *arguments: Any) -> Array:
        fused = ops.fused.get(name)
        return fused(*arguments) if fused else plain(ops, *arguments)

    return call
