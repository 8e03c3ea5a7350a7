"""Which of several runs a name means now: the one that was last evaluated under it. A name without
a folder may stand for files of several, which are told apart by what was typed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hardy.errors import InputError
from hardy.store.records import CLAIMS, RUN, read_details
from hardy.store.run_names import label_of

Details = Mapping[str, Any]

# Runs that differ in one of these are no successors of each other.
_SETUP = (
    *("suite", "suite_version", "suite_hash", "seed", "recipe", "made", "labels"),
    *("preprocessing", "precision", "defence", "batches"),
)


class Claims:
    """The latest claims to names, among the runs of a store."""

    def __init__(self, runs: Iterable[Details]) -> None:
        self._last: dict[tuple[str, str, str], tuple[str, Details]] = {}
        for run in runs:
            for name, places in run[CLAIMS].items():
                for place, when in places.items():
                    key = (_setup(run), name, place)
                    if key not in self._last or self._last[key][0] < when:
                        self._last[key] = (when, run)

    def hold(self, run: Details, name: str) -> bool:
        """Whether a run still answers to a name: whether nobody has since evaluated another under
        what was typed for it.

        * A file that has other weights now belongs to the run of these alone.
        * A file of the same name in another folder takes nothing away.
        * Of runs whose own name it is, as of a model that was trained again, each answers.
        """
        last = [
            holder for _, holder in self._by_file(run, lambda one: name in (one, label_of(one)))
        ]
        own = run["model"] == name and any(holder["model"] == name for holder in last)
        return not last or own or any(one["identity"] == run["identity"] for one in last)

    def is_of_file(self, run: Details, place: str, is_meant: Callable[[str], bool]) -> bool:
        """Whether a run that was evaluated by a name that is meant was so by this very file, and
        none after it; true of one that says nothing of files."""
        files = [each for each in self._by_file(run, is_meant) if each[0]]
        return not files or any(
            file == place and holder["identity"] == run["identity"] for file, holder in files
        )

    def _by_file(
        self, run: Details, is_meant: Callable[[str], bool]
    ) -> Iterator[tuple[str, Details]]:
        """The files that a run was evaluated by, and the run that each last was: this one, where
        another process has written the claim since the others were read."""
        for name, files in run[CLAIMS].items():
            for file in files if is_meant(name) else ():
                yield file, self._last.get((_setup(run), name, file), ("", run))[1]


def stored_details(store: Path) -> Iterator[Details]:
    """What is known of the runs of a store that can be read."""
    for path in sorted(store.glob(f"*/{RUN}")):
        with suppress(InputError):  # which those that read it tell of
            if (details := read_details(path.parent)) is not None:
                yield details


def _setup(run: Details) -> str:
    return repr([run[name] for name in _SETUP])
