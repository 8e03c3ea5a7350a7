"""Trainings for a report: the folders of `hardy train`, found and read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from hardy.schema import TABLE, is_whole
from hardy.train.run_folder import LOG, RUN, Log, read_log, read_run


@dataclass(frozen=True)
class TrainingCurve:
    """One training as far as its log goes."""

    folder: Path
    label: str
    style: int
    method: str
    net: str
    epochs: int  # that it is to have
    log: Log
    suite: str | None  # that the robust error is of

    def line(self, name: str, factor: float = 1.0) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The epochs whose rows have the column, and its values."""
        rows = [row for row in self.log if name in row]
        return tuple(int(row["epoch"]) for row in rows), tuple(factor * row[name] for row in rows)

    def last(self, name: str) -> float | None:
        values = self.line(name)[1]
        return values[-1] if values else None


def training_folders(places: Iterable[Path]) -> list[Path]:
    """Those that `hardy train` wrote and whose log has begun: these folders, or such as lie in
    them."""
    found = []
    for place in places:
        inside = sorted(path.parent for path in place.glob(f"*/{LOG}"))
        found += [one for one in (place, *inside) if (one / LOG).exists() and (one / RUN).exists()]
    return list(dict.fromkeys(found))


def read_trainings(folders: Sequence[Path], styles: Mapping[str, int]) -> list[TrainingCurve]:
    """The trainings in folders. One whose model a report has, by the name of its folder, gets that
    model's style; others come after all models."""
    known = {PurePath(label.partition(":")[2] or label).name: one for label, one in styles.items()}
    free = max(styles.values(), default=-1) + 1
    names = [folder.resolve().name for folder in folders]
    curves = []
    for folder, name in zip(folders, names, strict=True):
        run = read_run(folder)
        recipe, method, robust = (_table(run.get(part)) for part in ("recipe", "method", "robust"))
        epochs, suite = recipe.get("epochs", 0), robust.get("suite")
        own = known.pop(name, None)
        curves.append(
            TrainingCurve(
                folder,
                name if names.count(name) == 1 else str(folder),
                free if own is None else own,
                str(method.get("name", "")),
                str(recipe.get("net", "")),
                epochs if is_whole(epochs) else 0,
                read_log(folder),
                None if suite is None else str(suite),
            )
        )
        free += own is None
    return curves


def _table(found: Any) -> dict[str, Any]:
    """A part of a record, which may have been edited."""
    return found if TABLE.fits(found) else {}
