"""Trainings that begin with a named model: its net, a new head, what is chosen and recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.models import load_model
from hardy.models.weight_files import packed
from hardy.models.zoo import ZOO, keeping
from hardy.train import training_data
from hardy.train.starts import find_start, fine_tuning
from hardy.train.trained_model import trained_net
from tests.photos import random_images
from tests.train.small import narrow, write_arrays

__all__ = ["narrow"]
SQUEEZENET = ZOO["squeezenet1_1"]
LITTLE = {"epochs": 1, "lr": 1e-30, "batch": 4, "recipe": "resize64_crop64@1"}


@pytest.fixture(autouse=True)
def tiny_zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, torch.Tensor]:
    """zoo:tiny, a narrow ResNet with 1,000 classes, as if it had been fetched; its weights."""
    net = ZOO["resnet50"]._replace(scales=((1, 1, 1, 1), 4))  # type: ignore[arg-type]
    monkeypatch.setattr(ZOO, "_objects", {"tiny": net})
    monkeypatch.setattr(keeping, "zoo_folder", lambda: tmp_path / "zoo")
    (tmp_path / "zoo").mkdir()
    torch.manual_seed(0)
    weights = keeping.blank_net(net).state_dict()
    keeping.net_file("tiny").write_bytes(packed(weights, {}, Path("tiny")))
    return weights


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Photographs of three classes, of several sizes."""
    for number, pixels in enumerate(random_images(9, 70, 80)):
        place = tmp_path / "photos" / f"class{number % 3}" / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[: 66 + number % 2]).save(place)
    return tmp_path / "photos"


def test_a_model_is_fine_tuned_with_a_new_head(
    photos: Path, tmp_path: Path, tiny_zoo: dict[str, torch.Tensor]
) -> None:
    said: list[str] = []
    out = tmp_path / "net"
    result = hardy.train(
        "standard", data=photos, out=out, init="zoo:tiny", say=said.append, **LITTLE
    )
    assert "zoo:tiny gets a new head, for 3 classes" in said
    assert result.net == "zoo:tiny"
    assert result.seen is None  # nobody says what the zoo's net has seen
    run = json.loads((out / "run.json").read_text())
    assert run["init_model"] == "zoo:tiny"
    assert run["new_head"] is True
    assert run["preprocessing"]["std"] == [1 / 255] * 3  # the net's own
    net, _ = trained_net(out)
    trained = net.state_dict()
    torch.testing.assert_close(trained["stem.0.weight"], tiny_zoo["stem.0.weight"])
    assert trained["last.weight"].shape[0] == 3
    # In a test it is shown images of the size that it was trained with.
    model = load_model(f"hardy:{out}")
    assert model.preprocessing is not None
    assert model.preprocessing.size == 64
    assert model.logits(random_images(2, 32, 32)).shape == (2, 3)
    # The same call finds it finished.
    again = hardy.train("standard", data=photos, out=out, init="zoo:tiny", **LITTLE)
    assert again.epochs == 0


@pytest.mark.usefixtures("narrow")
def test_a_net_is_shown_the_side_that_it_was_trained_on(tmp_path: Path) -> None:
    out = tmp_path / "net"
    data = write_arrays(tmp_path / "arrays")  # 16 x 16
    hardy.train("standard", data=data, out=out, net="narrow", epochs=1, batch=32)
    sizes = {}
    for side in (None, 16, 224):
        figures = load_model(f"hardy:{out}", side=side).preprocessing
        assert figures is not None
        sizes[side] = figures.size
    assert sizes == {None: None, 16: None, 224: 16}


def test_the_new_head_is_drawn_by_the_seed(photos: Path, tmp_path: Path) -> None:
    def head(out: str, seed: int) -> torch.Tensor:
        path = tmp_path / out
        hardy.train("standard", data=photos, out=path, init="zoo:tiny", seed=seed, **LITTLE)
        return trained_net(path)[0].state_dict()["last.weight"]

    torch.testing.assert_close(head("a", 0), head("b", 0))
    assert not torch.allclose(head("a", 0), head("c", 1))


def test_an_average_begins_with_the_weights_of_the_model(
    photos: Path, tmp_path: Path, tiny_zoo: dict[str, torch.Tensor]
) -> None:
    out = tmp_path / "net"
    hardy.train("standard", data=photos, out=out, init="zoo:tiny", ema=0.999, seed=1, **LITTLE)
    averaged = trained_net(out)[0].state_dict()
    torch.testing.assert_close(averaged["stem.0.weight"], tiny_zoo["stem.0.weight"])


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("shape", [None, 5, [], {}, [3, 16], [3, 16, "16"]])
def test_a_shape_that_somebody_wrote(shape: object, tmp_path: Path) -> None:
    first = tmp_path / "first"
    data = write_arrays(tmp_path / "arrays")
    hardy.train("standard", data=data, out=first, net="narrow", epochs=1, batch=32)
    record = json.loads((first / "run.json").read_text())
    del record["sha256"]
    record["data"]["shape"] = shape
    (first / "run.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="expected three whole numbers as the shape"):
        find_start(f"hardy:{first}")


@pytest.mark.usefixtures("narrow")
def test_what_a_trained_net_has_seen_goes_on(tmp_path: Path) -> None:
    data = write_arrays(tmp_path / "arrays")
    first, second = tmp_path / "first", tmp_path / "second"
    hardy.train("gauss_single", data=data, out=first, net="narrow", epochs=1, batch=32)
    said: list[str] = []
    result = hardy.train(
        "standard", data=data, out=second, init=f"hardy:{first}", lr=1e-30, say=said.append
    )
    assert result.net == "narrow"
    assert result.all_seen
    assert result.seen == ["gaussian_noise", "noc_gaussian"]
    assert not any("new head" in line for line in said)  # as many classes
    heads = [trained_net(folder)[0].state_dict()["head.weight"] for folder in (first, second)]
    torch.testing.assert_close(*heads)
    # 64 images: a batch of 16, and no more than 40 epochs.
    assert any("40 epochs in batches of 16, learning rate 1e-30" in line for line in said)


@pytest.mark.parametrize(
    ("images", "pace"),
    [
        (30, (40, 16, 0.0025)),
        (732, (40, 32, 0.005)),
        (2000, (32, 64, 0.01)),
        (50_000, (5, 128, 0.02)),
    ],
)
def test_the_pace_follows_from_the_number_of_images(
    images: int, pace: tuple[int, int, float]
) -> None:
    assert fine_tuning(images) == pace
    assert fine_tuning(images, batch=64).batch == 64


def test_photographs_are_prepared_for_224_pixels(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {key: value for key, value in LITTLE.items() if key != "recipe"}
    said: list[str] = []
    hardy.train(
        "standard", data=photos, out=tmp_path / "net", init="zoo:tiny", say=said.append, **asked
    )
    assert "fine-tuning zoo:tiny at 224 x 224 pixels" in said[1]


def test_a_net_of_a_library_by_its_weights(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torchvision: None
) -> None:
    from torchvision import models

    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    place = tmp_path / "torch/hub/checkpoints"
    place.mkdir(parents=True)
    released = models.squeezenet1_1().state_dict()
    weights = models.SqueezeNet1_1_Weights.IMAGENET1K_V1
    torch.save(released, place / weights.url.rpartition("/")[2])
    init, out = "torchvision:squeezenet1_1.IMAGENET1K_V1", tmp_path / "net"
    result = hardy.train("standard", data=photos, out=out, init=init, **LITTLE)
    assert result.net == "torchvision:squeezenet1_1"
    trained = trained_net(out)[0].state_dict()
    torch.testing.assert_close(trained["features.0.weight"], released["features.0.weight"])
    assert trained["classifier.1.weight"].shape[0] == 3


def test_what_needs_no_photographs_is_checked_before_they_are_read(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*arguments: object, **more: object) -> None:
        raise AssertionError("images were read")

    monkeypatch.setattr(training_data, "read_data", read)
    with pytest.raises(InputError, match="expected epochs from 1 to 1,000,000, got 0"):
        hardy.train("standard", data=photos, out=tmp_path / "o", init="zoo:tiny", epochs=0)


def test_refusals(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither `net` nor its options beside `init` zoo:tiny"):
        hardy.train("standard", data=photos, out=tmp_path / "o", init="zoo:tiny", net="resnet_18")
    with pytest.raises(InputError, match=r"a file or a model of .*zoo:NAME.*, got onnx:net\.onnx"):
        find_start("onnx:net.onnx")
    with pytest.raises(InputError, match='unknown network of the zoo "resnet5"'):
        find_start("zoo:resnet5")


def test_a_new_head_of_squeezenet_is_not_rectified(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that begins with scores below 0 learns all the same; the thousand classes of the
    published weights stay as they were."""
    monkeypatch.setattr(ZOO, "_objects", {"squeezenet1_1": SQUEEZENET})
    torch.manual_seed(0)
    pixels = torch.rand(2, 3, 64, 64)
    for classes, below in ((2, True), (1000, False)):
        net = keeping.net_for("squeezenet1_1", classes)
        with torch.no_grad():
            net.conv10.bias.fill_(-1.0)
            assert (net(pixels) < 0).any().item() is below
