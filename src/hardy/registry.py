"""Registries: everything a user can name, with help for typing errors and plug-ins."""

from __future__ import annotations

import re
import sys
import warnings
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from hardy.errors import InputError, need

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def unknown(kind: str, name: object, known: Iterable[str], todo: str = "") -> InputError:
    """The error for a name nobody knows: it offers the nearest that exist, or else all of them,
    and says what else to do, if there is anything."""
    known = list(known)
    near = [f'"{one}"' for one in _nearest(str(name), known)]
    if near:
        hint = f"; did you mean {' or '.join(near)}?" + (f" Or {todo}" if todo else "")
    else:
        hint = (f"; {todo}" if todo else "") + f" (all: {', '.join(known) or 'none'})"
    return InputError(f'unknown {kind} "{name}"{hint}')


def _nearest(name: str, known: list[str]) -> list[str]:
    """The name in Hardy's spelling, the few that begin so, or the one that looks most alike."""
    from difflib import get_close_matches  # only ever needed on the way to an error

    spelled = name.lower().replace("-", "_").replace(" ", "_")
    same = [one for one in known if one.lower() == spelled]
    if same:
        return same
    longer = [one for one in known if one.startswith(spelled)]
    return longer if 1 <= len(longer) <= 3 else get_close_matches(spelled, known, n=1)


def summary(thing: object) -> str:
    """What a list says of a thing: its `summary`, else the first sentence of its docstring."""
    said: str | None = getattr(thing, "summary", None)
    return said or _first_sentence(thing.__doc__)


def _first_sentence(docstring: str | None) -> str:
    paragraph = " ".join((docstring or "").strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[^.]\.) ", paragraph, maxsplit=1)[0]


def _docstring_in_source(place: str) -> str | None:
    """The docstring of a class or function, without importing its module."""
    import ast

    module, _, name = place.partition(":")
    file = Path(__file__).parent.parent.joinpath(*module.split(".")).with_suffix(".py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node)
    return None


class Row(NamedTuple):
    """A heavy object of Hardy's own: it is imported when its name is asked for, as plug-ins are."""

    place: str  # "package.module:object"
    needs: str | None = None  # the optional package without which it cannot be imported
    extra: str | None = None  # the extra that installs that package, if it is called otherwise
    takes: str = ""  # what follows its name and a colon where it is typed, such as "FILE"
    summary: str | None = None  # what a list says of it, if it has no docstring of its own


class Registry(Generic[T]):
    """Names in order of registration, each with its object.

    What is light is registered by decorator; what imports much is a `Row` of a table. Another
    package adds a name by an entry point in the registry's group: the entry point has the name and
    points to the object. Entry points are read at the first look-up, and a plug-in is imported when
    its own name is asked for. So importing Hardy imports no plug-in, and one that is broken, or
    whose name is taken, breaks only that name.
    """

    def __init__(
        self,
        kind: str,
        entry_point_group: str | None = None,
        rows: Mapping[str, Row] | None = None,
        of: Any = object,  # the type that plug-ins have to be of
    ) -> None:
        self.kind = kind
        self.entry_point_group = entry_point_group
        self._of = of
        self._rows = dict(rows or {})
        self._objects: dict[str, T] = {}
        self._plugins: dict[str, EntryPoint] | None = None
        self._faults: dict[str, InputError] = {}  # of plug-ins, by their names
        self._warned: list[InputError] = []
        self._brought: set[str] = set()  # names that none of Hardy's own modules has added
        _EVERY.add(self)

    def register(self, name: str) -> Callable[[T], T]:
        """The decorator form of `add`."""

        def decorate(obj: T) -> T:
            self.add(name, obj)
            return obj

        return decorate

    def add(self, name: str, obj: T) -> None:
        if name in self._objects or name in self._rows:
            taken = self._objects.get(name) or self._rows[name].place
            raise InputError(
                f'the {self.kind} "{name}" exists already: expected a new name for {obj!r}, '
                f"this one belongs to {taken!r}; rename one of them"
            )
        self._objects[name] = obj
        if not _hardy_is_being_imported():
            self._brought.add(name)

    def names(self) -> tuple[str, ...]:
        """Our own first, in order of registration, then the plug-ins by name."""
        return tuple(dict.fromkeys([*self._rows, *self._objects, *self._entry_points()]))

    def plugins(self) -> tuple[str, ...]:
        """The names that are none of our own."""
        return tuple(self._entry_points())

    def known_here_alone(self) -> set[str]:
        """The names that another process would lack, unless it ran what has run in this one."""
        return self._brought.difference(self.plugins() if self._brought else ())

    def usable(
        self, names: Iterable[str] | None = None, tell: Callable[[str], object] | None = None
    ) -> Iterator[tuple[str, T]]:
        """Each name with its object; plug-ins that cannot be used are told of, or warned of once,
        and left out."""
        for name in self.names() if names is None else names:
            fault = self.fault(name)
            if fault and tell:
                tell(str(fault))
            elif fault and fault not in self._warned:
                self._warned.append(fault)
                warnings.warn(str(fault), stacklevel=2)
            if not fault or name not in self.plugins():
                yield name, self._get(name)

    def summary(self, name: str) -> str:
        """A line about it, for lists, which do without the packages that rows need."""
        row = self._rows.get(name)
        if row is not None and row.summary:
            return row.summary
        if row is not None and row.needs:
            return _first_sentence(_docstring_in_source(row.place))
        return summary(self[name])

    def form(self, name: str) -> str:
        """How it is typed: "onnx:FILE", or the name alone where nothing need follow."""
        takes = getattr(self._rows.get(name) or self[name], "takes", "")
        return f"{name}:{takes}" if takes else name

    def needing(self, packages: Container[object]) -> list[str]:
        """How those of our own are typed that need one of these optional packages."""
        return [self.form(name) for name, row in self._rows.items() if row.needs in packages]

    def category(self, name: str) -> str:
        """The heading it stands under, its category or group; "" where the kind has none."""
        thing = None if name in self._rows else self[name]
        return str(getattr(thing, "category", getattr(thing, "group", "")))

    def __getitem__(self, name: str) -> T:
        return self.find(name)

    def find(self, name: str, asked_for: str | None = None) -> T:
        """The object of that name; `asked_for` is what the user typed, for a missing package."""
        if fault := self.fault(name):
            raise fault
        return self._get(name, asked_for)

    def fault(self, name: str) -> InputError | None:
        """What is wrong with the plug-in of that name, which is imported to find out."""
        point = self._entry_points().get(name)
        if point and name not in self._objects and name not in self._faults:
            try:
                # setdefault, because a plug-in may register its object while it is imported.
                self._objects.setdefault(name, self._load(point))
            except InputError as error:
                self._faults[name] = error
        return self._faults.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def _get(self, name: str, asked_for: str | None = None) -> T:
        if name in self._rows and name not in self._objects:
            self._objects[name] = self._from_row(name, asked_for)
        if name not in self._objects:
            raise unknown(self.kind, name, self.names())
        return self._objects[name]

    def _from_row(self, name: str, asked_for: str | None) -> T:
        row = self._rows[name]
        if row.needs is not None:
            need(row.needs, row.extra or row.needs, asked_for or f"the {self.kind} {name}")
        module, _, attribute = row.place.partition(":")
        obj: T = getattr(import_module(module), attribute)
        return obj

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self._plugins is None:
            self._plugins = self._read_entry_points()
        return self._plugins

    def _read_entry_points(self) -> dict[str, EntryPoint]:
        """The plug-ins whose names are free; what is wrong with others is noted as their fault."""
        if self.entry_point_group is None:
            return {}
        from importlib.metadata import entry_points

        found: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=self.entry_point_group), key=lambda p: p.name):
            name, other = point.name, found.get(point.name, point)
            if name in self._rows or (name in self._objects and not self._is_registered(point)):
                self._faults[name] = self._unusable(point, "has the name of one of Hardy's own")
            elif other.value != point.value:
                also = f"has the name of one of {_package(other)}"
                self._faults[name] = self._unusable(point, also)
            else:
                found[name] = point
        return found

    def _is_registered(self, point: EntryPoint) -> bool:
        """Whether the object of that name is the plug-in's, which was imported before."""
        try:
            return self._load(point) is self._objects[point.name]
        except InputError:
            return False

    def _load(self, point: EntryPoint) -> T:
        try:
            obj: T = point.load()
        except Exception as error:
            raise self._unusable(point, f"cannot be imported: {error!r}") from error
        if not isinstance(obj, self._of):
            wanted = f"expected {self._of.__name__}, got {obj!r}"
            raise self._unusable(point, f"is of another kind: {wanted}")
        return obj

    def _unusable(self, point: EntryPoint, why: str) -> InputError:
        return InputError(
            f'the plug-in {self.kind} "{point.name}" ({point.value}) of {_package(point)} {why}; '
            "repair, rename or uninstall it"
        )


_EVERY: weakref.WeakSet[Registry[Any]] = weakref.WeakSet()


def names_known_here_alone() -> bool:
    """Whether a script, or a module that it imports, has added a name to any registry."""
    return any(registry.known_here_alone() for registry in list(_EVERY))


def _hardy_is_being_imported() -> bool:
    """Whether the module that runs now, the innermost one, is one of Hardy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__", "").startswith("hardy.")


def _package(point: EntryPoint) -> str:
    return f"the package {point.dist.name if point.dist else point.module}"
