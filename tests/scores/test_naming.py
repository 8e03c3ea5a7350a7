"""Finding a stored run by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hardy.errors import InputError
from hardy.scores import choose, score_run
from hardy.scores.listing import score_tables
from hardy.scores.naming import choose_all
from hardy.store.reader import StoredRun, find_runs
from hardy.store.run_names import RunNames
from hardy.store.writer import RunWriter
from hardy.suites.cells import CLEAN
from tests.scores.helpers import identity, write_run

WRONG = {CLEAN: [0, 1]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[StoredRun]:
    store = tmp_path_factory.mktemp("store")
    for model, suite in (
        ("timm:resnet50", "imagenet_c"),
        ("timm:resnet50", "cifar10_c"),
        ("timm:resnet50d", "imagenet_c"),
        ("onnx:net.onnx", "imagenet_c"),
    ):
        write_run(store, WRONG, model=model, suite=suite)
    write_run(store, WRONG, model="onnx:net.onnx", suite="imagenet_c", seed=1)
    return find_runs(store)


def test_by_model_folder_or_prefix(runs: list[StoredRun]) -> None:
    found = choose(runs, "timm:resnet50", "imagenet_c")
    assert (found.model, found.suite) == ("timm:resnet50", "imagenet_c"), "exact before prefix"
    assert choose(runs, "timm:resnet50d").model == "timm:resnet50d"
    for run in runs:
        assert choose(runs, run.folder.name).folder == run.folder
        assert choose(runs, run.folder.name[:-1]).folder == run.folder
    assert choose(runs, "t", "cifar10_c").suite == "cifar10_c"


def test_by_the_names_that_a_table_tells_them_apart_by(runs: list[StoredRun]) -> None:
    alike = [run for run in runs if run.model == "onnx:net.onnx"]
    table = score_tables([score_run(run) for run in alike])[0]
    assert table.rows[0][0] != table.rows[1][0]
    for run, (name, *_) in zip(alike, table.rows, strict=True):
        assert choose(runs, name).folder == run.folder
        assert any(note.startswith(f"{name}: ") for note in table.notes)


def test_without_the_kind_of_model(runs: list[StoredRun]) -> None:
    assert choose(runs, "resnet50d").model == "timm:resnet50d"
    found = choose(runs, "resnet50", "imagenet_c")
    assert found.model == "timm:resnet50", "exact before prefix"
    assert choose(runs, "res", "cifar10_c").model == "timm:resnet50"
    assert {run.model for run in choose_all(runs, ["resnet50"])} == {"timm:resnet50"}
    with pytest.raises(InputError, match="got 2; name one of timm:resnet50, timm:resnet50d"):
        choose(runs, "resnet", "imagenet_c")


def test_by_any_part_that_one_has(runs: list[StoredRun]) -> None:
    assert choose(runs, "50d").model == "timm:resnet50d"
    with pytest.raises(InputError, match="got 2; name one of timm:resnet50, timm:resnet50d"):
        choose(runs, "net50", "imagenet_c")


def test_runs_of_one_name_are_listed_with_their_dates(tmp_path: Path) -> None:
    when = ["2026-01-02T03:04:05+00:00", "2026-02-03T04:05:06+00:00"]
    for started in when:
        write_run(
            tmp_path, WRONG, model="net", model_identity=started, session={"started": started}
        )
    with pytest.raises(InputError) as refused:
        choose(find_runs(tmp_path), "net")
    text = str(refused.value)
    assert "(2026-01-02 03:04)" in text
    assert "(2026-02-03 04:05)" in text


@pytest.mark.parametrize(
    ("name", "suite", "message"),
    [
        (
            "timm:resnet50",
            None,
            r"got 2; name a suite: imagenet_c, cifar10_c|cifar10_c, imagenet_c",
        ),
        ("timm", "imagenet_c", "got 2; name one of timm:resnet50, timm:resnet50d"),
        ("onnx:net.onnx", None, r"got 2; name one of the folders: onnx-net.onnx--imagenet_c--"),
        ("timm:resnt50", None, 'unknown model "timm:resnt50"; did you mean "timm:resnet50"'),
        ("", None, 'unknown model ""'),
        ("timm:resnet50", "imagenet-c", 'runs "imagenet-c"; did you mean "imagenet_c"'),
    ],
)
def test_what_is_not_clear(
    runs: list[StoredRun], name: str, suite: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        choose(runs, name, suite)


def test_all_suites_of_some_models(runs: list[StoredRun]) -> None:
    found = choose_all(runs, ["timm:resnet50", "timm:resnet50d", "timm:resnet50"])
    assert sorted((run.model, run.suite) for run in found) == [
        ("timm:resnet50", "cifar10_c"),
        ("timm:resnet50", "imagenet_c"),
        ("timm:resnet50d", "imagenet_c"),
    ]
    with pytest.raises(InputError, match='unknown model "nobody"'):
        choose_all(runs, ["timm:resnet50d", "nobody"])
    with pytest.raises(InputError, match="got 2; name one of the folders"):
        choose_all(runs, ["onnx"])


def test_by_a_former_name(tmp_path: Path) -> None:
    """As in CI, where the weights are the same and the commit is another."""
    told = {"warnings": ["net-1: 40.0% of 30 clean images are right"]}
    settings: dict[str, Any] = {"ids": [0, 1], "labels": [0, 1], "classes": None}
    write_run(tmp_path, WRONG, model="net-1", labels=[0, 1], session=told)
    write_run(tmp_path, WRONG, model="another", labels=[0, 1], seed=1)
    for name in ("net-2", "net-3"):
        with RunWriter(tmp_path, identity("net-1", "imagenet_c"), **settings) as writer:
            writer.add_session({}, RunNames(name, given=True))
    runs = find_runs(tmp_path)
    found = choose(runs, "net-3")
    assert found.former_names == ("net-1", "net-2")
    assert choose(runs, "net-1") is choose(runs, "net-2") is found
    assert found.doubts == ["40.0% of 30 clean images are right"]


def test_by_another_name_of_the_same_weights(tmp_path: Path) -> None:
    """As of a file that an epoch has not changed; the run keeps the name it was begun under."""
    told = {"warnings": ["torch:net.py:make @ e1.pt: 40.0% of 30 clean images are right"]}
    settings: dict[str, Any] = {"ids": [0, 1], "labels": [0, 1], "classes": None}
    for name in ("e1.pt", "e10.pt"):
        model = f"torch:net.py:make @ {name}"
        write_run(tmp_path, WRONG, model=model, labels=[0, 1], session=told)
    first = identity("torch:net.py:make @ e1.pt", "imagenet_c")
    for name in ("e2.pt", "e3.pt", "e3.pt", "e1.pt"):
        with RunWriter(tmp_path, first, **settings) as writer:
            writer.add_session({}, RunNames(f"torch:net.py:make @ {name}"))
    runs = find_runs(tmp_path)
    found = choose(runs, "torch:net.py:make @ e1.pt")
    assert found.names == tuple(f"torch:net.py:make @ e{number}.pt" for number in (1, 2, 3))
    for name in ("torch:net.py:make @ e2.pt", "torch:net.py:make@e3.pt", "net.py:make@e2.pt", "e3"):
        assert choose(runs, name) is found
    assert found.doubts == ["40.0% of 30 clean images are right"]
    # A file that has other weights now means these, until it has the first ones again.
    e2 = "torch:net.py:make @ e2.pt"
    other = write_run(tmp_path, WRONG, model=e2, labels=[0, 1])
    for name in (e2, "torch:net.py:make@e2.pt", "net.py:make@e2.pt", "e2.pt"):
        assert choose(find_runs(tmp_path), name).folder == other.folder
    with RunWriter(tmp_path, first, **settings) as writer:
        writer.add_session({}, RunNames(e2))
    assert choose(find_runs(tmp_path), e2).folder == found.folder
    # Of two that are called so themselves neither is meant, and the folders tell them apart.
    write_run(tmp_path, WRONG, model=e2, model_identity="third", labels=[0, 1])
    with pytest.raises(InputError, match="got 2; name one of the folders: torch-net"):
        choose(find_runs(tmp_path), "torch:net.py:make@e2.pt")


@pytest.mark.parametrize("defence", [None, [{"name": "clahe", "setting": None, "words": ""}]])
def test_a_warning_has_its_models_name_once(defence: Any, tmp_path: Path) -> None:
    """Sessions hold it with the name in front, of a defended model that of the model itself."""
    model = "net+clahe" if defence else "net"
    told = {"warnings": ["net: 40.0% of 30 clean images are right"]}
    run = write_run(tmp_path, WRONG, model=model, defence=defence, session=told)
    assert run.doubts == ["40.0% of 30 clean images are right"]
