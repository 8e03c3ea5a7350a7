"""A page that ranks result files, as far as they were made alike."""

import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.files import check_outside_runs, write_output
from hardy.metrics import error
from hardy.models.model import in_words
from hardy.places import locate
from hardy.progress import Track, watch
from hardy.report.headline import TableCell, cells_of
from hardy.report.page import render_page
from hardy.report.submitted import find_results, left_out_of_results, main_score, on_our_suite
from hardy.report.words import (
    ADAPTED,
    NOT_STATED,
    OWN_CLASSES,
    defence_name,
    defended,
    short,
    trained_on,
)
from hardy.scores.paired_scores import differences
from hardy.scores.result_files import ResultFile
from hardy.scores.score import Circumstances, Score
from hardy.store.provenance import read_trained
from hardy.suites import load, published
from hardy.suites.published.printed_table import PrintedNumber


class BoardRow(NamedTuple):
    rank: int | None
    result: ResultFile
    cells: tuple[TableCell | None, ...]
    odd: tuple[str, ...]  # what is different about a score that is not shown in the column, or ""
    apart: str  # what keeps it from being ranked with the first ranking

    @property
    def name(self) -> str:
        """The name, marked where the model adapts and where classes are the images' own, whatever
        its maker calls it."""
        own = main_score(self.result).circumstances.labels == "own"
        marks = {ADAPTED: self.result.model["adapted"], OWN_CLASSES: own}
        missing = [mark for mark, due in marks.items() if due and mark not in self.result.name]
        return " ".join([self.result.name, *missing])

    @property
    def defence_name(self) -> str:
        return defence_name(self.result.defences, self.result.model["adapted"])

    @property
    def defence(self) -> str:
        return defended(in_words(self.result.defences), self.result.model["adapted"])

    @property
    def backbone(self) -> str:
        return self.result.model["backbone"] or NOT_STATED

    @property
    def standalone(self) -> str:
        stated = {True: "standalone", False: "combined", None: NOT_STATED}
        return stated[self.result.model["standalone"]]

    @property
    def method(self) -> str:
        """The method by name, where `hardy train` applied it."""
        methods = _methods(self.result)
        if not methods:
            return self.standalone
        known = "" if self.result.model["standalone"] is None else f" ({self.standalone})"
        return f"{short(' + '.join(methods))}{known}"

    @property
    def extra_data(self) -> str:
        return self.result.model["extra_data"] or NOT_STATED

    @property
    def seen(self) -> str:
        return trained_on(self.result.model["seen_corruptions"])

    @property
    def text(self) -> str:
        """What the search looks through."""
        words = (self.name, self.backbone, self.method, self.extra_data, self.seen)
        return " ".join((*words, self.defence)).lower()


class Ranking(NamedTuple):
    """Results made alike, the best first; or results that differ, each by itself without a rank."""

    slug: str
    circumstances: Circumstances | None
    columns: tuple[str, ...]
    rows: tuple[BoardRow, ...]

    @property
    def lower_is_better(self) -> bool:
        """Whether that is so in the first column, which ranks."""
        return main_score(self.rows[0].result).lower_is_better


class PublishedRow(NamedTuple):
    name: str
    value: PrintedNumber
    clean: str
    standalone: str
    source: str
    notes: str

    @property
    def text(self) -> str:
        """What the search looks through."""
        return " ".join((self.name, self.standalone, self.source, self.notes)).lower()


@dataclass(frozen=True)
class Board:
    suite: str
    title: str
    metric: str
    rankings: tuple[Ranking, ...]  # none where all are adapted
    adapted: Ranking | None
    others: Ranking | None
    published: tuple[PublishedRow, ...]


def boards(results: Sequence[ResultFile]) -> list[Board]:
    """A board for each suite of ours, in the order of their names."""
    by_suite: dict[str, list[ResultFile]] = {}
    for result in _once(list(filter(on_our_suite, results))):
        by_suite.setdefault(main_score(result).circumstances.suite, []).append(result)
    return [_board(suite, by_suite[suite]) for suite in sorted(by_suite)]


def _once(results: Sequence[ResultFile]) -> list[ResultFile]:
    """Each result once, though several files may hold it; the best first."""
    found = {_content(one): one for one in results}
    ordered = sorted(found.items(), key=lambda item: (main_score(item[1]).loss, item[0]))
    return [one for _, one in ordered]


def _methods(result: ResultFile) -> tuple[str, ...]:
    known = read_trained(result.provenance.get("sessions"))
    return (known.methods or ()) if known else ()


def _content(result: ResultFile) -> str:
    """Everything that a page shows of a result, the name first."""
    scores = [score.as_dict() for score in result.scores.values()]
    shown = (result.name, result.model, _methods(result), result.headline, scores)
    return json.dumps(shown, sort_keys=True)


def _board(suite: str, results: list[ResultFile]) -> Board:
    groups: dict[tuple[str, Circumstances], list[ResultFile]] = {}
    adapted = [one for one in results if one.model["adapted"]]
    for result in (one for one in results if not one.model["adapted"]):
        score = main_score(result)
        groups.setdefault((score.name, score.circumstances), []).append(result)
    ordered = sorted(groups.values(), key=lambda group: -len(group))
    ranked = [group for group in ordered if len(group) > 1] or ordered[:1]
    alone = [group[0] for group in ordered if not any(group is one for one in ranked)]
    first = main_score(ranked[0][0] if ranked else adapted[0])
    return Board(
        suite,
        load(suite).title,
        first.name,
        tuple(_ranking(f"{suite}-{place}", group, None) for place, group in enumerate(ranked, 1)),
        _ranking(f"{suite}-adapted", adapted, first) if adapted else None,
        _ranking(f"{suite}-others", alone, first) if alone else None,
        tuple(_published(suite, first)) if any(map(_of_suites_classes, results)) else (),
    )


def _of_suites_classes(result: ResultFile) -> bool:
    return main_score(result).circumstances.labels == "suite"


def _ranking(slug: str, group: list[ResultFile], like: Score | None) -> Ranking:
    """Rank the group; with `like`, say instead how each row differs from that score."""
    columns = tuple(dict.fromkeys(name for one in group for name in one.headline))
    scores = {name: [one.scores.get(name) for one in group] for name in columns}
    odd = {name: [""] * len(group) if like else _odd(scores[name]) for name in columns}
    cells = {
        name: cells_of(
            [None if why else one for one, why in zip(scores[name], odd[name], strict=True)]
        )
        for name in columns
    }
    rows = [
        BoardRow(
            None if like else _rank(group, one),
            one,
            tuple(cells[name][place] for name in columns),
            tuple(odd[name][place] for name in columns),
            _told_apart(like, main_score(one)) if like else "",
        )
        for place, one in enumerate(group)
    ]
    around = None if like else main_score(group[0]).circumstances
    return Ranking(slug.replace("_", "-"), around, columns, tuple(rows))


def _odd(column: Sequence[Score | None]) -> list[str]:
    """Say which scores were made unlike most in the column, although what ranks them is alike."""
    there = [score for score in column if score is not None]
    made = Counter(score.circumstances for score in there).most_common(1)[0][0]
    usual = next(score for score in there if score.circumstances == made)
    return [
        "" if score is None or score.circumstances == made else _told_apart(usual, score)
        for score in column
    ]


def _rank(group: list[ResultFile], one: ResultFile) -> int:
    """One more than the number of better results, so that equal ones share a rank."""
    return 1 + sum(main_score(other).loss < main_score(one).loss for other in group)


def _told_apart(like: Score, score: Score) -> str:
    """How a score was made differently; how its interval was made does not count."""
    same = replace(score, resampling=like.resampling, replicates=like.replicates)
    return "; ".join(differences(like, same))


def _published(suite: str, like: Score) -> list[PublishedRow]:
    rows = []
    for one in published.find(like.name, suite):
        clean = one.table.rows[one.row].get(error.clean)
        standalone = {"yes": "standalone", "no": "combined"}
        stated = one.table.words[one.row].get("standalone", "")
        rows.append(
            PublishedRow(
                one.table.label(one.row),
                one.value,
                clean.text if clean else "–",
                standalone.get(stated, NOT_STATED),
                f"{one.table.title}: {one.table.source}",
                " ".join(one.notes),
            )
        )
    sign = 1 if like.lower_is_better else -1
    return sorted(rows, key=lambda row: (sign * row.value.value, row.name, row.source))


def render_leaderboard(results: Sequence[ResultFile]) -> bytes:
    found = boards(results)
    rows = [row for board in found for part in _parts(board) for row in part.rows]
    return render_page(
        "leaderboard.html",
        title="Leaderboard",
        boards=found,
        left_out=left_out_of_results(_once(results)),
        backbones=sorted({row.backbone for row in rows}),
        extra=sorted({row.extra_data for row in rows}),
        count=len(rows),
    )


def _parts(board: Board) -> list[Ranking]:
    return [*board.rankings, *(part for part in (board.adapted, board.others) if part)]


def leaderboard(
    results: Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    tell: Callable[[str], None] = warnings.warn,
    track: Track = watch,
) -> Path:
    """Write a static page that ranks result files, to sort and to filter: `output`/index.html.

    Results are files of `hardy score --format json`, or folders of them. Every file is checked
    before any is shown. Only results made alike are ranked together; others, and published ones,
    stand apart. `tell` hears of results that the page leaves out.

    ```python
    import hardy
    import numpy as np

    images = np.zeros((20, 32, 32, 3), np.uint8)
    hardy.evaluate("fake:10", suite="cifar10_c", images=images, labels=[0] * 20, only=["fog"])
    hardy.report("runs", "fake.json")
    print(hardy.leaderboard(["fake.json"], "board"))
    ```
    """
    folder = locate(output)
    target = folder / "index.html"
    check_outside_runs(target)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"cannot write {target}: {folder} is a file; name a folder")
    found = find_results(map(locate, results), track)
    page = render_leaderboard(found)
    folder.mkdir(parents=True, exist_ok=True)
    write_output(target, page)
    for reason in left_out_of_results(_once(found)):
        tell(f"left out: {reason}")
    return target
