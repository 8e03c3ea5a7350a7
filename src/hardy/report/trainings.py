"""Trainings for a report: the folders of `hardy train`, found and read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from hardy.errors import InputError
from hardy.schema import TABLE, is_whole
from hardy.store.reader import StoredRun, find_runs
from hardy.train.run_folder import LOG, RUN, Log, epochs_in, read_log, read_run


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

    @property
    def done(self) -> int:
        """How many epochs the log has."""
        return len(epochs_in(self.log))

    def line(self, name: str, factor: float = 1.0) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The epochs whose rows have the column, fractions within one, and its values."""
        rows = [row for row in self.log if name in row]
        return tuple(row["epoch"] for row in rows), tuple(factor * row[name] for row in rows)

    def last(self, name: str) -> float | None:
        values = self.line(name)[1]
        return values[-1] if values else None


def training_folders(store: Path, trained: Iterable[Path] = ()) -> list[Path]:
    """Those that `hardy train` wrote and whose log has begun: in the store, and in further folders;
    each of these may be one, or hold some."""
    found = _folders_in(store)
    for place in trained:
        some = _folders_in(place)
        if not some:
            raise InputError(
                f"expected folders of `hardy train` with a log as `trained`, got {place}; a log "
                "begins with the first checkpoint"
            )
        found += some
    return list(dict.fromkeys(found))


def _folders_in(place: Path) -> list[Path]:
    every = (place, *sorted(path.parent for path in place.glob(f"*/{LOG}")))
    return [one for one in every if (one / LOG).exists() and (one / RUN).exists()]


def stored_runs(store: Path, trained: Sequence[Path], faults: list[str]) -> list[StoredRun]:
    """The runs of a store but for trainings; none where it has trainings alone. Those that have
    just begun, and have no log, are faults."""
    there = {path.parent for path in store.glob(f"*/{RUN}")}
    unlogged = [one for one in sorted(there - set(trained)) if _has_just_begun(one)]
    faults += [f"{one}: this training has no log yet" for one in unlogged]
    besides = [*trained, *unlogged]
    alone = store.is_dir() and there <= set(besides)
    if store in trained or (trained and alone and not (store / RUN).exists()):
        return []
    if unlogged and alone:
        raise InputError(faults[-1])
    return find_runs(store, faults, besides=besides)


def _has_just_begun(folder: Path) -> bool:
    try:
        return not (folder / LOG).exists() and {"method", "recipe"} <= read_run(folder).keys()
    except InputError:
        return False


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
