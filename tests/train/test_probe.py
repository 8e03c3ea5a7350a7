"""`hardy probe`, and the model `linear:FILE` that it makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import hardy
from hardy.errors import InputError
from hardy.models import load_model
from hardy.models.weight_files import packed, unpacked
from hardy.train import probing
from tests.models.tiny import tiny
from tests.photos import random_images

NET = """
import torch
from tests.models.tiny import tiny

def make():
    return tiny(classes=5)

def bare():
    net = tiny(classes=5)
    net.head = torch.nn.Identity()
    return net
"""
COUNT = 120
LABELS = np.arange(COUNT) % 3


def coloured() -> np.ndarray:
    """Three classes that differ in brightness, and overlap."""
    images = random_images(COUNT, 12, 12, seed=3).astype(int)
    return np.clip(images // 2 + (LABELS * 14)[:, None, None, None], 0, 255).astype(np.uint8)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "DECAYS", (1e-3, 1e-1))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(NET)
    np.savez("set.npz", images=coloured(), labels=LABELS)
    return tmp_path


def probe(model: str = "torch:net.py:make", **options: Any) -> Any:
    return hardy.probe(model, data="set.npz", out="probe.safetensors", **options)


def features_by_hand(images: np.ndarray) -> np.ndarray:
    net = tiny(classes=5).eval()
    given: list[torch.Tensor] = []
    net.head.register_forward_hook(lambda layer, inputs, output: given.append(inputs[0]))
    mean, std = (
        torch.tensor(one).view(3, 1, 1) for one in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    )
    with torch.no_grad():
        net((torch.tensor(images).permute(0, 3, 1, 2) / 255 - mean) / std)
    return given[0].numpy()


def test_it_is_logistic_regression_on_what_goes_into_the_last_layer(here: Path) -> None:
    """Beside scikit-learn's, with the same penalty, on features taken by hand."""
    np.savez("held.npz", images=coloured()[:60], labels=LABELS[:60])
    found = probe(validation="held.npz")
    features = features_by_hand(coloured())
    spread = features.std(0)
    scaled = (features - features.mean(0)) / spread
    theirs = LogisticRegression(C=1 / (found.decay * COUNT), tol=1e-8, max_iter=10_000)
    theirs.fit(scaled, LABELS)
    model = load_model("linear:probe.safetensors", trust=True)
    ours = model.logits(coloured())
    np.testing.assert_allclose(
        torch.tensor(ours).softmax(1), theirs.predict_proba(scaled), atol=2e-3
    )
    assert found.accuracy == np.mean(ours[:60].argmax(1) == LABELS[:60]) > 0.6
    assert (found.images, found.validation_images) == (COUNT, 60)
    assert found.tried[found.decay] == max(found.tried.values())
    tensors, notes = unpacked(Path("probe.safetensors"), "")
    np.testing.assert_allclose(
        features @ tensors["weight"].numpy().T + tensors["bias"].numpy(), ours, atol=1e-4
    )
    assert notes["backbone"] == "torch:net.py:make"


def test_a_model_without_a_classifier_gives_the_same_features(here: Path) -> None:
    with_head = probe("torch:net.py:make")
    assert "4 features, what goes into head of torch:net.py:make" in with_head.backbone
    first = load_model("linear:probe.safetensors", trust=True).logits(coloured())
    without = probe("torch:net.py:bare")
    assert "4 features, the outputs of torch:net.py:bare" in without.backbone
    second = load_model("linear:probe.safetensors", trust=True).logits(coloured())
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_a_fifth_is_held_out_and_the_seed_says_which(here: Path) -> None:
    found = probe(seed=1)
    assert (found.images, found.validation_images) == (96, 24)
    again, other = probe(seed=1), probe(seed=2)
    assert again == found
    assert other.tried != found.tried


def test_any_model_has_features(here: Path) -> None:
    """Those of one that is not torch's are its outputs."""
    found = probe("fake:10")
    assert found.backbone == "the 10 outputs of fake:10"
    model = load_model("linear:probe.safetensors")
    assert model.logits(coloured()).shape == (COUNT, 3)
    assert "a linear probe on the 10 outputs of fake:10" in model.facts.found  # type: ignore[attr-defined]


def test_a_hugging_face_backbone_needs_no_classifier(here: Path, torchvision: None) -> None:
    pytest.importorskip("transformers", reason="Hugging Face's transformers are not installed")
    from safetensors.torch import load_file, save_file

    from tests.models import hf_folders

    folder = hf_folders.save(here / "backbone", size=16, resample=2, **hf_folders.HALF)
    whole = probe(f"hf:{folder}")
    first = load_model("linear:probe.safetensors")
    weights = load_file(folder / "model.safetensors")
    kept = {name: part for name, part in weights.items() if not name.startswith("classifier")}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"backbone without a classifier.*hardy probe hf:"):
        load_model(f"hf:{folder}")
    assert load_model("linear:probe.safetensors").identity == first.identity
    bare = probe(f"hf:{folder}")
    assert bare == whole
    assert "16 features, what goes into classifier.1 of hf:" in bare.backbone
    second = load_model("linear:probe.safetensors")
    np.testing.assert_array_equal(first.logits(coloured()), second.logits(coloured()))


def test_classes_are_matched_by_name(here: Path) -> None:
    arrays = {
        "weight": np.arange(12.0).reshape(3, 4),
        "bias": [0.0, 1, 2],
        "backbone": "torch:net.py:bare",
        "classes": ["a", "b", "c"],
    }
    np.savez("probe.npz", **arrays)
    plain: Any = load_model("linear:probe.npz", trust=True)
    assert plain.facts.class_names == ("a", "b", "c")
    moved: Any = load_model("linear:probe.npz", trust=True, classes=(("c",), ("a",), ("b",)))
    assert moved.facts.class_names == ("c", "a", "b")
    np.testing.assert_array_equal(moved.logits(coloured()), plain.logits(coloured())[:, [2, 0, 1]])
    assert moved.identity != plain.identity


def test_other_weights_of_the_backbone_are_noticed(here: Path) -> None:
    probe()
    before = load_model("linear:probe.safetensors", trust=True)
    assert load_model("linear:probe.safetensors", trust=True).identity == before.identity
    Path("net.py").write_text(NET.replace("tiny(classes=5)", "tiny(1, classes=5)"))
    with pytest.raises(InputError, match="has other weights than the probe was trained on"):
        load_model("linear:probe.safetensors", trust=True)


def test_a_file_that_names_code_is_not_run_unless_trusted(here: Path) -> None:
    probe()
    Path("net.py").write_text("raise SystemExit")
    with pytest.raises(InputError, match=r"torch:net\.py:make runs code; if you trust it"):
        load_model("linear:probe.safetensors")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": None}, "it has no weight; expected what `hardy probe` writes"),
        ({"backbone": None}, "it has no backbone; expected what"),
        ({"weight": np.zeros(3)}, r"expected weight \(classes, features\) and bias \(classes,\)"),
        ({"bias": np.zeros(2)}, r"got \(3, 10\) and \(2,\)"),
        ({"weight": np.full((3, 10), np.nan)}, "expected numbers, got weights that are none"),
        ({"classes": ["a"]}, "expected 3 names of classes, got 1"),
        ({"weight": np.zeros((3, 7))}, "expected a backbone of 7 features, got the 10 outputs of"),
        ({"backbone": "linear:other.npz"}, "its backbone linear:other.npz is a probe itself"),
        ({"backbone": "nothing:5"}, 'unknown kind of model "nothing"'),
        ({"bias": np.array([None])}, r"cannot read .*probe\.npz: ValueError"),
    ],
)
def test_a_file_that_is_no_probe_is_refused(changes: dict, message: str, here: Path) -> None:
    arrays = {"weight": np.zeros((3, 10)), "bias": np.zeros(3), "backbone": "fake:10"} | changes
    np.savez("probe.npz", **{name: part for name, part in arrays.items() if part is not None})
    with pytest.raises(InputError, match=message):
        load_model("linear:probe.npz")


def test_a_damaged_file_is_told(here: Path) -> None:
    probe("fake:10")
    whole = Path("probe.safetensors").read_bytes()
    Path("probe.safetensors").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match=r"is damaged.*make it anew by `hardy probe`"):
        load_model("linear:probe.safetensors")
    notes = {"backbone": "fake:10", "classes": "{"}
    file = Path("notes.safetensors")
    file.write_bytes(packed({"weight": torch.zeros(2, 10)}, notes, file))
    with pytest.raises(InputError, match=r"cannot read the notes of notes\.safetensors"):
        load_model("linear:notes.safetensors")
    with pytest.raises(InputError, match="expected a linear probe, got nowhere"):
        load_model("linear:nowhere.npz")
    with pytest.raises(InputError, match="takes no checkpoint"):
        load_model("linear:probe.safetensors", checkpoint="a.pt")


def test_what_cannot_be_probed_is_refused_before_the_work(here: Path) -> None:
    np.savez("one.npz", images=coloured(), labels=np.zeros(COUNT, int))
    np.savez("bare.npz", images=coloured())
    np.savez("more.npz", images=coloured(), labels=np.arange(COUNT) % 4)
    good = {"data": "set.npz", "out": "probe.safetensors"}
    for changes, message in (
        ({"data": "one.npz"}, "expected at least 2 classes, got 1"),
        ({"data": "bare.npz"}, "expected images with their labels, got no labels"),
        ({"validation": "more.npz"}, r"more\.npz: expected the classes of set\.npz, 3, got the la"),
        ({"out": "probe.pt"}, r"expected a file that ends in \.safetensors"),
    ):
        with pytest.raises(InputError, match=message):
            hardy.probe("fake:10", **(good | changes))
    with pytest.raises(InputError, match="expected a model by name"):
        hardy.probe(tiny(), **good)  # type: ignore[arg-type]


def test_the_commands(run: Any) -> None:
    images = np.repeat(np.arange(10, dtype=np.uint8) * 25, 12)[:, None, None, None]
    images = np.broadcast_to(images, (120, 32, 32, 3)) + random_images(120, 32, 32) // 32
    np.savez("set.npz", images=images, labels=np.repeat(np.arange(10), 12))
    code, out, err = run("probe", "fake:20", "--data", "set.npz", "--out", "p.safetensors")
    assert code == 0, err
    assert "the 20 outputs of fake:20\ntrained on 96 images; " in out
    assert "next: hardy eval linear:p.safetensors --suite SUITE --images SRC" in out
    code, out, err = run(
        *("eval", "linear:p.safetensors", "--suite", "cifar10_c", "--images", "set.npz"),
        *("--only", "fog", "--severities", "1", "--store", "runs"),
    )
    assert code == 0, err
    assert "a linear probe on the 20 outputs of fake:20" in out


def test_how_pixels_are_taken_is_kept_in_the_file(here: Path) -> None:
    probe(preprocess="caffe")
    model = load_model("linear:probe.safetensors", trust=True)
    backbone = load_model("torch:net.py:make", trust=True, preprocessing="caffe")
    assert model.preprocessing == backbone.preprocessing
    plain = load_model("linear:probe.safetensors", trust=True, preprocessing="none")
    assert plain.preprocessing != model.preprocessing, "who says otherwise is heeded"
    with pytest.raises(InputError, match="caffe"):
        probe(preprocess="coffee")


def test_the_command_takes_it_too(here: Path, run: Any) -> None:
    given = ("torch:net.py:make", "--data", "set.npz", "--out", "probe.safetensors")
    code, _, err = run("probe", *given, "--preprocess", "tf")
    assert code == 0, err
    assert unpacked(Path("probe.safetensors"), "")[1]["preprocess"] == "tf"
