"""What makes a run another run, and where it is stored."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from hardy.store.identity import Identity, slug
from tests.store.stores import extend, identity, opened

DESCRIBED = {"model", "preprocessing", "defence"}
STRANGE = [
    "../../etc/passwd",
    "..",
    "/",
    "",
    "<script>alert(1)</script>",
    "🤖🤖",
    "a" * 300,
    ".hidden",
    "two\nlines\0",
    "CON|?*:\\",
    "\udcff.onnx",
]


@pytest.mark.parametrize("name", [field.name for field in fields(Identity)])
def test_what_changes_the_output_makes_another_run(name: str) -> None:
    other = identity(**{name: 5 if name in ("suite_version", "seed") else "another"})
    assert (other.hash() == identity().hash()) == (name in DESCRIBED)
    assert len({identity().hash(), identity(seed=None).hash(), identity(seed=1).hash()}) == 3


def test_a_run_without_a_defence_is_what_it_was_before_there_were_any() -> None:
    decisive = asdict(identity())
    for name in (*DESCRIBED, "batches"):
        del decisive[name]
    before = sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()
    assert identity().hash() == before


@pytest.mark.parametrize("name", STRANGE)
def test_any_name_is_a_folder_of_the_store(name: str, tmp_path: Path) -> None:
    run = identity(model=name)
    with opened(tmp_path / "store", [1], identity=run) as writer:
        assert writer.folder.parent == tmp_path / "store"
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert slug(name).isascii()
    assert slug(name)[0].isalnum()
    assert len(run.folder_in(tmp_path).name) < 100


def test_a_readable_name(tmp_path: Path) -> None:
    run = identity(model="timm:vit_base_patch16_224.augreg", suite="imagenet_c")
    name = run.folder_in(Path("store")).name
    assert name == f"timm-vit_base_patch16_224.augreg--imagenet_c--{run.hash()[:8]}"
    assert extend(tmp_path, [1]).identity == identity()


def test_another_torch_is_told_where_a_model_of_one_name_is_another(tmp_path, monkeypatch):
    import hardy
    from hardy.store import namesakes

    images = np.zeros((4, 32, 32, 3), np.uint8)
    asked = {"images": images, "labels": [0] * 4, "only": "fog", "store": tmp_path}
    run = hardy.evaluate("fake:10", suite="cifar10_c", **asked)
    monkeypatch.setattr(namesakes, "versions", lambda names: {"numpy": "99.0"})
    other = dataclasses.replace(run.stored.identity, model_identity="0" * 64)
    line = namesakes.describe_namesake(other, tmp_path)
    assert line is not None
    assert f"beside {run.folder.name}, which has its name: weights, layers or code are" in line
    assert line.endswith(f"(numpy {np.__version__} there, 99.0 now)")
    assert namesakes.describe_namesake(run.stored.identity, tmp_path) is None
    assert namesakes.describe_namesake(other, tmp_path / "none") is None
    renamed = dataclasses.replace(other, model="another")
    assert namesakes.describe_namesake(renamed, tmp_path) is None
