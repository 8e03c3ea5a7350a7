"""Suites, lists, stores and records, read as commands read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

_STORE = Path(__file__).parent / "corpus/store"


def read_suite(path: Path) -> None:
    from hardy.suites import load
    from hardy.suites.cells import choose_cells

    suite = load(str(path))
    suite.content_hash()
    choose_cells(suite, ["all"])


def read_model_table(path: Path) -> None:
    from hardy.models.model_lists import list_models

    list_models([str(path)])


def read_stored_run(path: Path) -> Any:
    from hardy.scores.run_scores import score_run
    from hardy.store.attack_files import read_attacks
    from hardy.store.reader import READABLE, open_run
    from hardy.store.worst_images import read_worst

    folder = next(above for above in path.parents if (above / "run.json").exists())
    run = open_run(folder)
    str(run.identity.hash())
    cells = [cell for cell in run.cells if run.frames(cell) is None]
    there = np.flatnonzero(run.complete(cells))
    read = run.read(cells, tuple(READABLE), there)
    read_worst(folder)
    read_attacks(run)
    notes = (run.seen, run.left_out, run.doubts, run.trained)
    scores = score_run(run)
    values = {name: read[name].tobytes() for name in read}
    said = [str(scores[name].value) for name in scores]
    return cells, there.tolist(), run.labels.tolist(), values, said, notes, run.details


def read_result(path: Path) -> None:
    from hardy.report.submitted import find_results

    find_results([path])


def read_overlap_matrix(path: Path) -> None:
    from hardy.design.independent_sets import select_independent
    from hardy.design.matrix import read_matrix

    select_independent(read_matrix(path), 0.5)


def read_model_drops(path: Path) -> None:
    from hardy.scores.drops import read_drops

    read_drops(path)


def read_performances(path: Path) -> None:
    from hardy.scores.performance import performance

    performance(path).render("table")


def read_trained(path: Path) -> Any:
    from hardy.train.record import check_run, run_hash, seen_in
    from hardy.train.run_folder import read_run
    from hardy.train.trained_model import trained_as

    record = read_run(path.parent)
    run_hash(path.parent)
    seen_in(path.parent)
    check_run(record, path)
    trained_as(record)
    return record


def read_training_log(path: Path) -> None:
    from hardy.train.run_folder import read_log

    read_log(path.parent)


def read_model_list(path: Path) -> None:
    from hardy.models.model_lists import list_many

    list_many(str(path))


def read_sentences(path: Path) -> None:
    from hardy.models.prompts import read_prompts

    str(read_prompts(str(path)))


def read_brought_points(path: Path) -> None:
    from hardy.scores.effective_robustness import published_line, read_points, refuse_idle

    points = read_points(path)
    refuse_idle(points, ["imagenet_r"])
    published_line("imagenet_r", points)


def read_card(path: Path) -> None:
    """A model card gets results, twice."""
    import hardy
    from hardy.progress import untracked

    for _ in range(2):
        hardy.card(_STORE, "waves", path, track=untracked, tell=lambda line: None)


def read_experiment(path: Path) -> None:
    from hardy.design.results import analyse, read_measured

    analyse(read_measured(path.parent))
