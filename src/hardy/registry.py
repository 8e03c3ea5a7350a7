"""One registry for everything that has a name: typo help, and plug-ins by entry point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from hardy.errors import HardyError, InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def unknown(kind: str, name: object, known: Iterable[str]) -> InputError:
    """The error for a name nobody knows; it offers the nearest one that exists."""
    from difflib import get_close_matches  # only ever needed on the way to an error

    known = list(known)
    spelled = str(name).lower().replace("-", "_").replace(" ", "_")
    near = get_close_matches(spelled, known, n=1)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return InputError(f'unknown {kind} "{name}"{hint} (all: {", ".join(known) or "none"})')


def summary(thing: object) -> str:
    """What a list says of it: the first line of its docstring."""
    return (thing.__doc__ or "").split("\n")[0]


class Registry(Generic[T]):
    """Names in order of registration, each with its object.

    Another package adds a name by an entry point in the registry's group: the entry point is
    called what the thing is called, and points to the object. Entry points are read at the first
    look-up and a plug-in is imported when its own name is asked for, so importing Hardy imports
    nobody else, and a broken plug-in breaks only itself.
    """

    def __init__(self, kind: str, entry_point_group: str | None = None) -> None:
        self.kind = kind
        self.entry_point_group = entry_point_group
        self._objects: dict[str, T] = {}
        self._plugins: dict[str, EntryPoint] | None = None

    def register(self, name: str) -> Callable[[T], T]:
        """The decorator form of `add`."""

        def decorate(obj: T) -> T:
            self.add(name, obj)
            return obj

        return decorate

    def add(self, name: str, obj: T) -> None:
        if name in self._objects:
            raise self._duplicate(name, obj)
        self._objects[name] = obj

    def names(self) -> tuple[str, ...]:
        """Our own first, in order of registration, then the plug-ins by name."""
        return tuple(dict.fromkeys([*self._objects, *self._entry_points()]))

    def __getitem__(self, name: str) -> T:
        plugins = self._entry_points()
        if name not in self._objects and name in plugins:
            # setdefault, because a plug-in may register its object itself while it is imported.
            self._objects.setdefault(name, self._load(plugins[name]))
        if name not in self._objects:
            raise unknown(self.kind, name, self.names())
        return self._objects[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self._plugins is None:
            self._plugins = self._read_entry_points()
        return self._plugins

    def _read_entry_points(self) -> dict[str, EntryPoint]:
        if self.entry_point_group is None:
            return {}
        from importlib.metadata import entry_points

        found: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=self.entry_point_group), key=lambda p: p.name):
            taken: object = self._objects.get(point.name)
            if taken is not None and self._load(point) is not taken:
                raise self._duplicate(point.name, point.value)
            if point.name in found and point.value != found[point.name].value:
                raise self._duplicate(point.name, point.value, found[point.name].value)
            found[point.name] = point
        return found

    def _load(self, point: EntryPoint) -> T:
        try:
            obj: T = point.load()
        except Exception as error:
            raise HardyError(
                f'the plug-in {self.kind} "{point.name}" ({point.value}) cannot be imported: '
                f"{error!r}; repair or uninstall the package that brings it"
            ) from error
        return obj

    def _duplicate(self, name: str, new: object, old: object = None) -> InputError:
        return InputError(
            f'the {self.kind} "{name}" exists already: expected a new name for {new!r}, '
            f"this one belongs to {self._objects.get(name, old)!r}; rename one of them"
        )
