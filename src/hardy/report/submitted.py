"""Result files from anywhere, checked against the suites that they name before they are ranked."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from hardy.errors import InputError
from hardy.progress import Track, untracked
from hardy.registry import unknown
from hardy.report.words import count
from hardy.scores.result_files import ResultFile, read_results
from hardy.scores.score import Score
from hardy.suites import load, suite_names
from hardy.suites.cells import levels

# Refused files that a message lists before it says how many more there are.
LISTED = 10


def find_results(paths: Iterable[Path], track: Track = untracked) -> list[ResultFile]:
    """Read files, and all .json files in folders, and check every one before any is shown.

    Results on suites that are not ours come along, unless there are no others.
    """
    found: list[ResultFile] = []
    refused: list[str] = []
    files = [file for path in paths for file in _files(path)]
    for file in track(files, len(files), "result files"):
        try:
            read = read_results(file)
            for one in read:
                _check_submitted(one, str(file))
            found += read
        except InputError as error:
            refused.append(str(error))
    if refused:
        if len(files) == 1:
            raise InputError(refused[0])
        more = [f"and {len(refused) - LISTED} more"] if len(refused) > LISTED else []
        raise InputError(
            f"{len(refused)} of {len(files)} result files cannot be shown:",
            *refused[:LISTED],
            *more,
        )
    if found and not any(map(on_our_suite, found)):
        raise InputError(
            "expected results on suites of Hardy's, `hardy ls suites` lists them; got only "
            + "; ".join(left_out_of_results(found))
        )
    return found


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.json"))
    if not found:
        raise InputError(
            f"expected result files in {path}, found no .json; `hardy score --format json` writes "
            "them"
        )
    return found


def on_our_suite(result: ResultFile) -> bool:
    return main_score(result).circumstances.suite in suite_names()


def left_out_of_results(results: Iterable[ResultFile]) -> list[str]:
    """A sentence for each suite that is not shown: what is in a user's own, we cannot know."""
    counts = Counter(
        main_score(one).circumstances.suite for one in results if not on_our_suite(one)
    )
    return [
        f"{count(number, 'result')} on {suite}, which is no suite of Hardy's: suites of one's own "
        "cannot be compared here"
        for suite, number in sorted(counts.items())
    ]


def main_score(result: ResultFile) -> Score:
    return result.scores[result.headline[0]]


def _check_submitted(result: ResultFile, where: str) -> None:
    """Refuse a result whose suite has other contents here than where the result was made."""
    if not on_our_suite(result):
        return
    around = main_score(result).circumstances
    suite = load(around.suite)
    there = suite.counted + suite.validation
    possible = {level for name in there for level in levels(suite, name)}
    for field, got, wanted in (
        ("version", around.version, suite.version),
        ("suite_hash", around.suite_hash, suite.content_hash()),
    ):
        if got != wanted:
            raise InputError(
                f"{where}: circumstances.{field}: expected {wanted}, as {suite.name} is here, got "
                f"{got}; score the run again with this version of hardy"
            )
    seen = result.model["seen_corruptions"] or ()
    _check_names(seen, there, f"{where}: model.seen_corruptions")
    for place, score in enumerate(result.scores.values()):
        spot = f"{where}: scores[{place}]"
        _check_names(score.circumstances.names, there, f"{spot}.names")
        for level in score.circumstances.levels:
            if level not in possible:
                raise InputError(
                    f"{spot}.levels: expected among {sorted(possible)}, got {level}; correct the "
                    "file"
                )


def _check_names(given: Iterable[str], there: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in there:
            raise unknown(f"name in {where}:", name, there)
