"""An overlap experiment that is continued with the same, or with something else."""

from __future__ import annotations

import json
from contextlib import nullcontext

import numpy as np
import pytest

from hardy.design.designed_suite import suite_toml
from hardy.design.experiment import run_overlap
from hardy.errors import InputError
from hardy.suites.cells import NONE
from tests.design.design_runs import NAMES, RECIPE, Killed, run_it
from tests.train.small import narrow, write_arrays

__all__ = ["narrow"]


def test_other_test_images_are_refused(tmp_path, narrow) -> None:
    """They have the same ids and labels; it is told before a model is trained."""

    def kill(line: str) -> None:
        raise Killed

    with pytest.raises(Killed):
        run_it(tmp_path, kill)
    path = tmp_path / "b/set.npz"
    with np.load(path) as held:
        images, labels = held["images"], held["labels"]
    images[7] ^= 1
    train = str(tmp_path / "a/set.npz")
    np.savez(tmp_path / "c.npz", images=images, labels=labels)
    wanted = {"images": str(tmp_path / "c.npz"), "only": NAMES, "device": "cpu", "say": kill}
    with pytest.raises(InputError, match="holds another overlap: test_hash is '"):
        run_overlap("cifar10_c", train, tmp_path / "out", RECIPE, **wanted)
    with pytest.raises(Killed):
        run_overlap("cifar10_c", train, tmp_path / "out", RECIPE, **wanted | {"images": str(path)})


def test_a_suite_of_the_users_may_move_while_models_train(tmp_path, narrow) -> None:
    """Each model is trained with what was read as the experiment began."""
    mine = tmp_path / "mine.toml"
    mine.write_text(suite_toml("cifar10_c", "mine", NAMES, "x"))
    train, test = (write_arrays(tmp_path / part, 24) for part in ("a", "b"))
    moved = tmp_path / "moved/mine.toml"

    def move(line: str) -> None:
        if line.startswith("model 1"):
            moved.parent.mkdir()
            mine.rename(moved)
        if line.startswith("model 3"):
            raise Killed

    for path, say in ((mine, move), (moved, lambda line: None)):
        with pytest.raises(Killed) if say is move else nullcontext():
            run_overlap(
                str(path),
                str(train),
                tmp_path / "out",
                RECIPE,
                images=str(test),
                only=NAMES[1:3],
                device="cpu",
                say=say,
            )
    for name in (NONE, *NAMES[1:3]):
        trained = json.loads((tmp_path / "out/models" / name / "run.json").read_text())
        assert trained["method"]["suite"] == "mine_at_16"


@pytest.mark.parametrize("link", ["models", "models/none", "predictions", "models/none/deeper"])
def test_nothing_is_deleted_or_written_through_a_link(link: str, tmp_path, narrow) -> None:
    def kill(line: str) -> None:
        raise Killed

    with pytest.raises(Killed):
        run_it(tmp_path, kill)
    mine, place = tmp_path / "mine", tmp_path / "out" / link
    for folder in (mine, mine / NONE):
        folder.mkdir()
        for name in ("finished.json", "model.safetensors"):
            (folder / name).write_text("mine")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(mine)
    with pytest.raises(InputError, match=rf"{link}: expected a file or folder of its own, got a l"):
        run_it(tmp_path, kill)
    assert [path.read_text() for path in mine.rglob("*") if path.is_file()] == ["mine"] * 4
