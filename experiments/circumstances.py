"""The circumstances and sources of the figures on the page, and how figures stand in its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from string import ascii_lowercase
from typing import Any

from experiments.comparisons import scores_of
from experiments.plan import REPEATED
from experiments.score_files import Records, has_other_rounds
from hardy.scores.paired_scores import ScoreDifference
from hardy.scores.score import Score
from hardy.train.method import make_method

GROUPS = ("methods", "architecture")
# The common recipe; what differs from it stands among the settings.
USUAL = {"antialias": 1, "seed": 0}


def circumstances(records: Records) -> Iterator[str]:
    sessions = [record["session"] for record in records.values()]
    machines = listed(s["gpu"] or f"{s['cpu']}, {s['cores']} cores" for s in sessions)
    libraries = listed(
        f"{name} {s['versions'][name]}"
        for name in ("torch", "numpy")
        for s in sessions
        if name in s["versions"]
    )
    sources = "; ".join(f"{letter} {name}" for name, letter in _letters(records).items())
    yield (
        f"Machine: {machines}. {libraries}. Commits of the sources: {sources}. A training "
        "with the same seed comes out differently when it is run again, because kernels are chosen "
        "by trying them."
    )
    common = [
        record
        for record in records.values()
        if record.get("group") in (*GROUPS, "repeats", "defences", "grid")
    ]
    for record in common[:1]:
        recipe = record["recipe"]
        yield (
            "All trainings have one schedule, except those under the paper's, those that chose "
            f"settings, and those on from a trained net: {recipe['net']}, "
            f"{recipe['epochs']} epochs, batch {recipe['batch']}, SGD with Nesterov momentum "
            f"{recipe['momentum']}, weight decay {recipe['weight_decay']}, learning rate "
            f"{recipe['lr']} falling by {recipe['schedule']}, {recipe['precision']}, "
            f"seed {recipe['seed']} but for {REPEATED}, from fresh weights, one training each. "
            "An interval says how far the figure would move with other test images. It does not "
            "say how far the figure would move with another seed."
        )
    for record in common[:1]:
        scores = scores_of(record["name"], records)
        errors, flips = scores["mean error"], scores["flip probability"]
        yield (
            f"Mean -C error: {errors.circumstances}. Without noise: the "
            f"{len(scores['error without noise'].circumstances.names)} of these that are no noise. "
            f"mFR: {flips.circumstances}; 100 is the standard model, since the suite has no "
            "reference of its own. 95 % intervals by bootstrap over images; differences are paired."
        )


def commands(records: Records) -> Iterator[str]:
    """Those that make all of it."""
    common = [r["recipe"] for r in records.values() if r.get("group") in GROUPS]
    tuning = [r["recipe"]["epochs"] for r in records.values() if r.get("group") == "tuning"]
    if not common or not tuning:
        return
    net, epochs = common[0]["net"], common[0]["epochs"]
    run = f"--net {net} --epochs {epochs} --tuning-epochs {tuning[0]}"
    repeated = has_other_rounds(records)
    lines = [
        f"run --work work {run}",
        *([f"run --work again {run} --only tuning"] if repeated else []),
        "attack --work work",
        "speed --work work",
        f"table work/results{' --again again/results' if repeated else ''}",
    ]
    typed = "\n".join(f"python -m experiments.cifar10 {line}" for line in lines)
    yield "## The commands"
    yield (
        "The first fetches CIFAR-10; `run` goes on where it was stopped.\n\n"
        "<!-- not run: it trains all methods on a GPU -->\n"
        f"```bash\nhardy fetch cifar10\n{typed}\n```"
    )


def listed(found: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, found)))


def source(record: Mapping[str, Any], records: Records) -> str:
    """A letter, as the page explains it at its top."""
    return _letters(records)[_commit(record)]


def _letters(records: Records) -> dict[str, str]:
    commits = sorted({_commit(record) for record in records.values()})
    return dict(zip(commits, ascii_lowercase, strict=False))


def _commit(record: Mapping[str, Any]) -> str:
    session = record["session"]
    return str(session.get("commit") or (session["git_commit"] or "unknown")[:19])


def seen_by(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The corruptions that the method shows, as known today: a record may be older than a suite."""
    return make_method(record["method"], record["settings"]).seen


def row(name: str, records: Records, columns: Iterable[str]) -> list[str]:
    scores, seen = scores_of(name, records), seen_by(records[name])
    shown = [scores.get(column) for column in columns]
    return [figure(score) + (score.mark(seen) if score else "") for score in shown]


def figure(score: Score | ScoreDifference | None) -> str:
    return "-" if score is None else score.figure()


def setting(record: Mapping[str, Any]) -> str:
    other = {k: v for k, v in record["recipe"].items() if v != USUAL.get(k, v)}
    return ", ".join(f"{name} {value}" for name, value in (record["settings"] | other).items())
