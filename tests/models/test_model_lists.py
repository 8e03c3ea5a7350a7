"""Several models at once: names, weights after an @, and lists in files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hardy.errors import InputError
from hardy.models import Override, load_model
from hardy.models.model import Preprocessing
from hardy.models.model_lists import WantedModel, list_many, list_models
from tests.models.tiny import IMAGES, tiny

FACTORY = "torch:tests.models.tiny:tiny"
LISTED = """
[[model]]
model = "timm:resnet18"
name = "ours"
checkpoint = "weights.pt"
mean = [0.5, 0.5, 0.5]

[[model]]
model = "fake:10@weights.pt"
size = 64
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_weights_follow_an_at(here: Path) -> None:
    (one,) = list_models(["timm:resnet18@deep/weights.pt"])
    assert one == WantedModel("timm:resnet18", None, Path("deep/weights.pt"))
    (here / "epoch9").write_bytes(b"")
    assert list_models(["torch:a.b:make@epoch9"])[0].checkpoint == Path("epoch9")


@pytest.mark.parametrize("model", ["timm:hf_hub:a/b@v1.0", "onnx:me@home.onnx", "onnx:a@b.pt", len])
def test_not_every_at_is_one_of_weights(here: Path, model: object) -> None:
    """Revisions have one, and so do paths."""
    (here / "a@b.pt").write_bytes(b"")
    assert list_models([model]) == [WantedModel(model)]


def test_each_model_has_its_own_weights(here: Path) -> None:
    for seed in (1, 2):
        (here / f"run{seed}").mkdir()
        torch.save(tiny(seed).state_dict(), here / f"run{seed}" / "best.pt")
    wanted = list_models([FACTORY, f"{FACTORY}@run1/best.pt", f"{FACTORY}@run2/best.pt"])
    loaded = [load_model(one.model, name=one.load_as, checkpoint=one.checkpoint) for one in wanted]
    for seed, model in enumerate(loaded):
        assert (model.logits(IMAGES) == load_model(tiny(seed)).logits(IMAGES)).all()
    files = [str(Path(f"run{seed}/best.pt")) for seed in (1, 2)]
    assert [model.name for model in loaded] == [FACTORY, *(f"{FACTORY} @ {f}" for f in files)]
    alone = load_model(FACTORY, checkpoint="run1/best.pt")
    assert (alone.identity, alone.name) == (loaded[1].identity, f"{FACTORY} @ best.pt")


def test_a_file_of_models(here: Path) -> None:
    (here / "models.toml").write_text(LISTED)
    half, weights = (0.5, 0.5, 0.5), Path("weights.pt")
    ours, fake, last = list_models(["models.toml", "fake:9"], preprocessing=Override(std=half))
    assert ours == WantedModel("timm:resnet18", "ours", weights, Override([0.5] * 3, half))
    assert fake == WantedModel("fake:10", None, weights, Override(None, half, 64))
    assert last == WantedModel("fake:9", preprocessing=Override(std=half))
    (_, whole) = list_models(["models.toml"], preprocessing=Preprocessing(half, half, 32))
    assert whole.preprocessing == Preprocessing(half, half, 64)


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (["a", "b"], {"name": ["x"]}, "a `name` for each of 2 models, and none in a file, got x"),
        (["a", "b"], {"name": ["x", "x"]}, 'names that differ, got 2 models called "x"'),
        (["a"], {"name": ""}, "names that differ"),
        (["models.toml"], {"name": ["x", "y"]}, "for each of 2 models, and none in a file"),
        (["a", "b"], {"checkpoint": "x"}, "one model for the checkpoint x, got 2; write each as M"),
        (["a@b.pt"], {"checkpoint": "x"}, "one file of weights for a, got b.pt and x"),
        (["none.toml"], {}, "cannot read the models in none.toml"),
        (["empty.toml"], {}, r"empty.toml: model: expected tables \[\[model\]\], got nothing"),
        (["odd.toml"], {}, r'unknown field of odd.toml "model\[0\].weights"'),
        (["wrong.toml"], {}, r"wrong.toml: model\[0\].mean: expected three numbers"),
    ],
)
def test_refusals(here: Path, models: list[str], options: dict, message: str) -> None:
    (here / "models.toml").write_text(LISTED)
    (here / "empty.toml").write_text("")
    (here / "odd.toml").write_text('[[model]]\nmodel = "a"\nweights = "b"')
    (here / "wrong.toml").write_text('[[model]]\nmodel = "a"\nmean = [0.5]')
    with pytest.raises(InputError, match=message):
        list_models(models, **options)


ZOO = """\
# what we have
timm:resnet18
ours, epoch 9 = torch:net.py:make@runs/9#2.pt   # the best
torch:net.py:make@runs/e*.pt
models.toml
"""


def test_many_models_in_a_text(here: Path) -> None:
    (here / "runs").mkdir()
    for name in ("e2.pt", "e1.pt", "9#2.pt", "x[1].pt"):
        (here / "runs" / name).write_bytes(b"")
    (here / "zoo.txt").write_text(ZOO)
    (here / "models.toml").write_text(LISTED)
    found = list_many(here / "zoo.txt")
    net = "torch:net.py:make"
    assert found[0] == WantedModel("timm:resnet18")
    assert found[1] == WantedModel(net, "ours, epoch 9", Path("runs/9#2.pt"))
    assert found[2:4] == [WantedModel(net, None, Path(f"runs/e{n}.pt")) for n in (1, 2)]
    assert [one.name for one in found[4:]] == ["ours", None]
    assert [one.label for one in found[1:3]] == ["ours, epoch 9", f"{net} @ e1.pt"]
    assert list_many([f"{net}@runs/e1.pt", f"{net}@runs/e*2.pt"]) == found[2:4]
    assert list_many(f"{net}@runs/x[1].pt") == [WantedModel(net, None, Path("runs/x[1].pt"))]


def test_files_that_are_models(here: Path) -> None:
    for name in ("b.onnx", "a.onnx"):
        (here / name).write_bytes(b"")
    assert [one.model for one in list_many("onnx:*.onnx")] == ["onnx:a.onnx", "onnx:b.onnx"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("none.txt", "cannot read the models in none.txt: FileNotFoundError"),
        ("empty.txt", "empty.txt: expected a model on each line, got none"),
        ("torch:net.py:make@*.pt", r'expected files that fit "\*.pt", found none'),
        ("*.safetensors", "expected files after the net that they belong to, such as"),
        ("timm:resnet*", "expected files after the net that they belong to"),
        ("two.txt", 'expected one model to be called "ours", got 2'),
    ],
)
def test_refusals_of_many(here: Path, given: str, message: str) -> None:
    (here / "empty.txt").write_text("# nothing\n\n")
    (here / "two.txt").write_text("ours = onnx:*.onnx")
    for name in ("b.onnx", "a.onnx"):
        (here / name).write_bytes(b"")
    with pytest.raises(InputError, match=message):
        list_many(given)
