"""Runs of one name that are not the same run, and why they are not; and one run of two names."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hardy.errors import InputError, printable
from hardy.execute.machine import versions
from hardy.schema import TABLE
from hardy.store.identity import Identity, slug
from hardy.store.provenance import LIBRARIES
from hardy.store.records import read_details

# What makes another run, and can be told; the rest is in the model's identity.
_TOLD = {
    "suite_version": "the suite's version",
    "seed": "the seed",
    "recipe": "the recipe",
    "made": "images",
    "labels": "the classes",
    "preprocessing": "preprocessing",
    "precision": "precision",
}


def describe_namesake(run: Identity, store: Path) -> str | None:
    """Say that a run is begun beside one of its name on its suite, and what differs; None where it
    goes on, or nothing has its name."""
    if not store.is_dir() or run.folder_in(store).is_dir():
        return None
    found: list[tuple[str, Mapping[str, Any]]] = []
    for folder in sorted(store.glob(f"{slug(run.model)}--{slug(run.suite)}--*")):
        with suppress(InputError):  # which those that read it tell of
            before = read_details(folder)
            if before is not None and before["model"] == run.model:
                found.append((folder.name, before))
    if not found:
        return None
    name, nearest = min(found, key=lambda one: len(_changes(one[1], run)))
    told = "; ".join(_changes(nearest, run)) or _unseen_change(nearest, run)
    return f"a run of its own beside {printable(name)}, which has its name: {told}"


def describe_other_name(run: Identity, store: Path) -> str | None:
    """Say that a run goes on which is called after the same model by another name."""
    before = read_details(run.folder_in(store))
    if before is None or before["model"] == run.model:
        return None
    return f"stored as {before['model']}, which is the same model: its run answers to both names"


def _changes(before: Mapping[str, Any], now: Identity) -> list[str]:
    return [
        f"{words} {before[name]} there, {getattr(now, name)} now"
        for name, words in _TOLD.items()
        if before[name] != getattr(now, name)
    ]


def _unseen_change(before: Mapping[str, Any], now: Identity) -> str:
    if before["model_identity"] == now.model_identity:
        return "the suite's contents, or the batches it adapts to, are others"
    stated = [one["versions"] for one in before["sessions"] if TABLE.fits(one.get("versions"))]
    then, here = stated[-1] if stated else {}, versions(LIBRARIES)
    changed = [
        f"{name} {then[name]} there, {here[name]} now"
        for name in LIBRARIES
        if then.get(name) and here.get(name) and then[name] != here[name]
    ]
    what = "weights, layers or code are others"
    return f"{what} ({', '.join(changed)})" if changed else what
