"""`hardy.card`: what it writes is what Hugging Face's library reads, and all else stays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
import yaml

import hardy
from hardy.errors import InputError, MissingResource
from hardy.scores import score_run
from hardy.share.card_text import with_results
from hardy.suites.cells import CLEAN, Cell
from tests.scores.helpers import errors, write_nothing, write_run, write_sequences

CELLS = errors(images=30, names=("fog", "snow"))
# Comments, order, quotes and an entry of somebody else, as a parser and a writer would lose them.
OTHERS = """\
---
license:   apache-2.0   # of the weights
tags: [a,   b]
model-index:
# mine
- name: "my net"
  results:
    # measured by hand
    - task: {type: image-classification}
      dataset: {type: imagenet-1k, name: 'ImageNet'}
      metrics:
        - type: accuracy
          value: 0.10   # as printed
          name: |
            Top 1

library_name: timm
---
# My net

---
model-index: none of the head
---
"""
# Each line stands for ten of the line before.
BOMB = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10))]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("cards")
    warned = {"warnings": ["net: half of the images are grey"], "seen_corruptions": ["fog"]}
    subset = {"of": 50_000}
    write_run(store, CELLS, model="net", session=warned, subset=subset)
    write_sequences(store, [Cell("tilt", 1)], model="net")
    write_run(store, CELLS, model="nets of others", own_classes=True)
    return store


def results(path: Path) -> list[Any]:
    """Those of the only entry, by the library."""
    (entry,) = huggingface_hub.metadata_load(path)["model-index"]
    return list(entry["results"])


def test_a_new_card(store: Path, tmp_path: Path) -> None:
    path = hardy.card(store, "net", tmp_path / "README.md")
    text = path.read_text(encoding="utf-8")
    assert text.endswith("---\n\n# net\n")
    card = huggingface_hub.ModelCard.load(path)
    assert card.data.model_name == "net"
    by_name = {(one.dataset_type, one.metric_name): one for one in card.data.eval_results}
    scores = score_run(hardy.runs(store)[0].stored)
    for score in scores.headline:
        one = by_name["imagenet_c", score.name]
        assert one.metric_value == pytest.approx(score.value, abs=0.005)
        assert one.metric_args["low"] == pytest.approx(score.interval.low, abs=0.005)
        assert one.metric_args["high"] == pytest.approx(score.interval.high, abs=0.005)
        assert one.task_type == "image-classification"
        assert one.dataset_name == "ImageNet-C"
    mce = by_name["imagenet_c", "mCE"]
    assert mce.metric_type == "mce"
    assert mce.metric_args["trained_on"] == ["fog"]
    assert mce.metric_args["reference"] == "AlexNet"
    assert mce.dataset_args["suite_version"] == 1
    assert (mce.dataset_args["images"], mce.dataset_args["images_of"]) == (30, 50_000)
    assert mce.dataset_args["evaluated_with"] == f"hardy {hardy.__version__}"
    assert "half of the images are grey" in mce.dataset_args["notes"]
    assert ("imagenet_p", "mFR") in by_name
    written = huggingface_hub.metadata_load(path)
    assert written == yaml.safe_load(text.split("---\n")[1])


def test_a_part_of_the_benchmark_is_not_told_as_its_whole(tmp_path: Path) -> None:
    some = errors(names=("fog", "snow", "frost"), severities=(1, 3, 5))
    write_run(tmp_path / "runs", some, model="part")
    (result,) = results(hardy.card(tmp_path / "runs", "part", tmp_path / "part.md"))
    told = result["dataset"]["args"]
    assert told["corruptions"] == ["snow", "frost", "fog"]
    assert told["severities"] == [1, 3, 5]
    note = "not the whole of ImageNet-C: 3 of 15 corruptions, severity 1, 3, 5"
    assert told["notes"][0] == note
    assert result["metrics"][0]["args"]["corruptions"] == 3
    write_run(tmp_path / "runs", errors(), model="all")
    (result,) = results(hardy.card(tmp_path / "runs", "all", tmp_path / "all.md"))
    assert not {"corruptions", "severities", "notes"} & {*result["dataset"]["args"]}
    write_run(tmp_path / "runs", {CLEAN: CELLS[CLEAN]}, model="clean")
    (result,) = results(hardy.card(tmp_path / "runs", "clean", tmp_path / "clean.md"))
    told = result["dataset"]["args"]
    assert told["notes"] == ["not the whole of ImageNet-C: clean images only"]
    assert not {"corruptions", "severities"} & {*told}


def test_what_is_unusual_is_told(store: Path, tmp_path: Path) -> None:
    path = hardy.card(store, "nets of others", tmp_path / "README.md")
    (result,) = results(path)
    assert result["dataset"]["args"]["classes"] == "the images' own"
    assert [one["name"] for one in result["metrics"]] == ["mean error", "clean error"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_everything_else_stays_byte_for_byte(store: Path, tmp_path: Path, end: str) -> None:
    path, before = tmp_path / "README.md", OTHERS.replace("\n", end).encode()
    path.write_bytes(before)
    hardy.card(store, "net", path)
    after = path.read_bytes()
    start = before.index(b"library_name")
    kept = before[:start].rstrip()
    assert after.startswith(kept)
    assert after.endswith(before[start:])
    added = after[len(kept) : -len(before[start:])].decode()
    assert added.count("task:") == 2, "a suite each, and nothing but these"
    assert ("\r" in added) == (end == "\r\n")
    assert re.fullmatch(rf"({end}|    [ -] .*{end})+", added), "beside the item that was there"
    assert [one["dataset"]["type"] for one in results(path)] == [
        "imagenet-1k",
        "imagenet_c",
        "imagenet_p",
    ]
    hardy.card(store, "net", path)
    assert path.read_bytes() == after, "a second time changes nothing"


def test_results_are_replaced_where_they_stand(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(OTHERS, encoding="utf-8")
    hardy.card(store, "net", path)
    wrong = {cell: flags | (np.arange(30) < 9) for cell, flags in CELLS.items()}
    write_run(tmp_path / "later", wrong, model="net")
    before = results(path)
    hardy.card(tmp_path / "later", "net", path)
    first, second, third = results(path)
    assert (first, third) == (before[0], before[2])
    assert second["metrics"][0]["value"] > before[1]["metrics"][0]["value"]
    assert "# measured by hand" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("", ["net"]),
        ("license: mit\n", ["net"]),
        ("license: mit", ["net"]),
        ("model-index:\nlicense: mit\n", ["net"]),
        ("model-index: []\nlicense: mit\n", ["net"]),
        ("model-index:\n- name: x\nlicense: mit\n", ["x"]),
        ("model-index:\n  - name: x\n    results: []\n    more: 1\nlicense: mit\n", ["x"]),
        ("model-index:\n- name: x\n  results:\n  - {a: 1}\n- name: y\n", ["x", "y", "net"]),
        ("model-index:\n- name: x\n- name: net\n  results:\n  - a: 1\n", ["x", "net"]),
    ],
)
def test_heads_of_every_kind(store: Path, tmp_path: Path, head: str, names: list[str]) -> None:
    path = tmp_path / "README.md"
    end = "" if head.endswith("\n") or not head else "\n"
    path.write_text(f"---\n{head}{end}---\nbody" if head else "body", encoding="utf-8")
    hardy.card(store, "net", path, suite="imagenet_c")
    data = huggingface_hub.metadata_load(path)
    assert [entry["name"] for entry in data["model-index"]] == names
    ours = [one for entry in data["model-index"] for one in entry.get("results") or ()]
    assert [one["dataset"]["type"] for one in ours if "dataset" in one] == ["imagenet_c"]
    assert data.get("license") == ("mit" if "license" in head else None)
    assert path.read_text(encoding="utf-8").endswith("---\nbody")
    once = path.read_bytes()
    hardy.card(store, "net", path, suite="imagenet_c")
    assert path.read_bytes() == once


def test_another_model_gets_an_entry_of_its_own(store: Path, tmp_path: Path) -> None:
    path = hardy.card(store, "net", tmp_path / "README.md")
    hardy.card(store, "nets of others", path)
    data = huggingface_hub.metadata_load(path)
    assert [entry["name"] for entry in data["model-index"]] == ["net", "nets of others"]


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("a: [1", r"between two lines of ---, got a fault in line 3: expected ',' or ']'"),
        ("a: b: c", r"got a fault in line 2: mapping values are not allowed here"),
        ("day: 2026-13-45", r"got a fault: ValueError"),
        ("- a", r"with keys, got list"),
        ("model-index: {name: x}", r"with model-index as a list of models and their results"),
        ("model-index: [x]", r"with model-index as a list of models"),
        ("model-index:\n- name: x\n  results: 3", r"with model-index as a list of models"),
        ("model-index: [{name: x, results: [{a: 1}]}]", r"a line for each item .*, got brackets"),
        ("model-index: []\nmodel-index: []", r"with model-index once, got it 2 times"),
        ("a: &a 1\nb: *a", r"got a fault in line 3: an alias; write out what it stands for"),
        ("\n".join(BOMB), r"got a fault in line 3: an alias"),
        ("model-index: &a\n- name: x\n  results: *a", r"got a fault in line 4: an alias"),
        ("model-index:\n- &e {name: x, results: [*e]}", r"got a fault in line 3: an alias"),
        ("a: &a [*a]", r"got a fault in line 2: an alias"),
        ('a: !!bool "x"', r"got a fault: KeyError"),
        ('a: !!int ""', r"got a fault: IndexError"),
        ('a: !!float ""', r"got a fault: IndexError"),
        ('a: !!timestamp "x"', r"got a fault: AttributeError"),
        ("a: " + "[" * 5000, r"got a fault: RecursionError"),
    ],
)
def test_heads_that_are_refused(store: Path, tmp_path: Path, head: str, reason: str) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"---\n{head}\n---\nbody", encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(InputError, match=rf"README.md: expected a head of YAML .*{reason}") as told:
        hardy.card(store, "net", path)
    assert str(told.value).endswith("; correct the file")
    assert "\n" not in str(told.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\ufeff---\nlicense: mit\n---\n", "got a byte order mark; save it as UTF-8 without one"),
        ("---\rlicense: mit\r---\r", r"or lines that end with \\r; correct the file"),
        ("---\nlicense: mit\n", "got the first of them alone, or"),
        ("\n---", "got the first of them alone, or"),
    ],
)
def test_a_card_gets_no_second_head(store: Path, tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "README.md"
    path.write_bytes(text.encode())
    with pytest.raises(InputError, match=f"README.md: expected .*{reason}"):
        hardy.card(store, "net", path)
    assert path.read_bytes() == text.encode()


def test_a_line_across_the_page_is_no_head(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("-----\nbody\n", encoding="utf-8")
    hardy.card(store, "net", path)
    assert path.read_text(encoding="utf-8").endswith("---\n-----\nbody\n")


def test_a_head_is_not_too_long(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("---\n" + "a: 1\n" * 100_001 + "---\n", encoding="utf-8")
    match = "README.md: expected at most 500,000 letters in the head of a model card, got 500,005"
    with pytest.raises(InputError, match=match):
        hardy.card(store, "net", path)


def test_files_and_models_that_are_refused(store: Path, tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match="expected a model card in UTF-8, but"):
        hardy.card(store, "net", tmp_path / "latin.md")
    with pytest.raises(InputError, match="it is a folder; name a file in it"):
        hardy.card(store, "net", tmp_path)
    with pytest.raises(InputError, match='unknown model "mine"'):
        hardy.card(store, "mine", tmp_path / "new.md")
    with pytest.raises(InputError, match="holds the predictions of a run"):
        hardy.card(store, "net", hardy.runs(store)[0].folder / "README.md")
    write_run(tmp_path / "runs", {CLEAN: CELLS[CLEAN]}, model="abc")
    write_sequences(tmp_path / "runs", [Cell("tilt", 1)], model="abd")
    with pytest.raises(InputError, match='got those of abc and abd for "ab"; name one of them'):
        hardy.card(tmp_path / "runs", "ab", tmp_path / "new.md")
    assert not (tmp_path / "new.md").exists()


def test_the_command(run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("card", store, "net", "-o", "README.md") == (0, "wrote README.md\n", "")
    write_run(tmp_path / "runs", CELLS, model="net")
    write_nothing(tmp_path / "runs", "net", "cifar10_c")
    code, out, err = run("card", "runs", "net", "-o", "card.md")
    assert (code, out) == (1, "wrote card.md\n")
    assert "1 run could not be scored:\n  the run of net on cifar10_c holds no predictions" in err
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    code, _, err = run("card", store, "net", "-o", "README.md")
    assert code == 2
    assert re.search(r"^error: a model card needs yaml, .*\[card\]", err)
    with pytest.raises(MissingResource):
        with_results("", "net", [], "README.md")
