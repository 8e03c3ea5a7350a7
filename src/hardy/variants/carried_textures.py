"""The frost photographs go along with work for machines that may have no way to get them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hardy.engine.textures import texture_files, use_textures
from hardy.execute.executor import Item, Result, Setup
from hardy.suites.cells import Cell

_ICY = "frost"  # the corruption that is made of photographs


@dataclass(frozen=True)
class _WithTextures:
    setup: Callable[[], Callable[..., object]]
    files: Mapping[str, bytes]

    def __call__(self) -> Callable[..., object]:
        use_textures(self.files)
        return self.setup()


def with_textures(setup: Setup[Item, Result], cells: Iterable[Cell]) -> Setup[Item, Result]:
    """The same set-up; where frost is among the cells, it brings the photographs along. If this
    machine has none either, that is an error now, before any work begins."""
    if all(cell.name != _ICY for cell in cells):
        return setup
    return _WithTextures(setup, texture_files())  # type: ignore[return-value]
