"""The zoo's real networks on twenty photographs with ImageNet's labels: 250 MB from the network."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import hardy
from hardy.demonstration import UNPACKED, lite_networks, unpack_photos
from hardy.errors import MissingResource
from hardy.images import load_images, open_images
from hardy.images.demo_photos import PHOTO_WHEELS, fetch_wheels
from hardy.models import load_model
from hardy.models.zoo import ZOO
from hardy.models.zoo.foreign_tensors import tensorflow_js
from hardy.parcels import open_parcel
from tests.models import plain_nets
from tests.models.test_zoo_nets import caffe
from tests.pages import page

pytestmark = pytest.mark.slow
GOLDEN = Path(__file__).parent.parent / "golden/zoo.json"
# The numbers of photographs whose class is the first, or among the first five.
HITS = {
    "resnet50": (19, 20),
    "efficientnet_b0": (18, 20),
    "mobilenet_v1": (16, 20),
    "squeezenet1_1": (15, 17),
    "efficientnet_lite0": (18, 19),
    "efficientnet_lite1": (18, 20),
    "efficientnet_lite2": (18, 20),
}
# Of them, those it knows when they are prepared as ImageNet-C's are, by a bilinear filter.
AS_IN_A_RUN = {**dict.fromkeys(ZOO, 18), "resnet50": 19, "mobilenet_v1": 16, "squeezenet1_1": 14}
AS_IN_A_RUN |= {"efficientnet_b0": 17, "efficientnet_lite0": 17}
B0 = ((1, 3, 1, 1, 0), (2, 3, 2, 6, 0), (2, 5, 2, 6, 0), (3, 3, 2, 6, 0))
B0 += ((3, 5, 1, 6, 0), (4, 5, 2, 6, 0), (1, 3, 1, 6, 0))


@pytest.fixture(scope="module")
def wheels() -> Path:
    try:
        return fetch_wheels()
    except MissingResource as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def pictures(wheels: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The shorter side to 256, bicubic, and the centre."""
    found = {}
    with zipfile.ZipFile(wheels / next(iter(PHOTO_WHEELS))) as members:
        for name in sorted(members.namelist()):
            if match := re.fullmatch(r"foolbox/data/imagenet_\d+_(\d+)\.jpg", name):
                with Image.open(io.BytesIO(members.read(name))) as file:
                    shorter = min(file.size)
                    sides = tuple(side * 256 // shorter for side in file.size)
                    photo = np.asarray(file.convert("RGB").resize(sides, Image.Resampling.BICUBIC))
                top, left = ((side - 224) // 2 for side in photo.shape[:2])
                found[name] = photo[top : top + 224, left : left + 224], int(match[1])
    images, labels = zip(*found.values(), strict=True)
    assert len(images) == 20
    return np.stack(images), np.array(labels)


def model_of(name: str) -> hardy.models.Model:
    try:
        hardy.fetch("models", name)
    except MissingResource as error:
        pytest.skip(str(error))
    return load_model(f"zoo:{name}", device="cpu")


@pytest.mark.parametrize("name", ZOO)
def test_what_it_sees(name: str, pictures: tuple[NDArray[np.uint8], NDArray[np.int64]]) -> None:
    images, labels = pictures
    logits = model_of(name).logits(images)
    ranks = (-logits).argsort(axis=1)
    top1, top5 = (int((ranks[:, :n] == labels[:, None]).any(axis=1).sum()) for n in (1, 5))
    assert (top1, top5) == HITS[name]
    golden = json.loads(GOLDEN.read_text())[name]
    assert ranks[:, 0].tolist() == golden["classes"]
    # Other processors add in another order; a wrong padding or epsilon changes far more.
    np.testing.assert_allclose(logits.max(axis=1), golden["logits"], atol=5e-3)


@pytest.mark.parametrize("name", ZOO)
def test_what_it_sees_in_a_run(name: str, wheels: Path, tmp_path: Path) -> None:
    model = model_of(name)
    unpack_photos(wheels / next(iter(PHOTO_WHEELS)), tmp_path)
    (batch,) = load_images(open_images(tmp_path / UNPACKED), "resize256_crop224@1")
    labels = [int(str(id).rpartition("_")[2]) for id in batch.ids]
    hits = model.logits(batch.images).argmax(axis=1) == np.array(labels)
    assert (len(hits), int(hits.sum())) == (20, AS_IN_A_RUN[name])


def test_the_page_names_these() -> None:
    said = ", ".join(str(AS_IN_A_RUN[name]) for name in ZOO)
    assert re.sub(", (?=[^,]*$)", " and ", said) in " ".join(page("docs/zoo.md").split())


def test_resnet50_is_its_packages(pictures: tuple[NDArray[np.uint8], NDArray[np.int64]]) -> None:
    images, model = pictures[0][:2], model_of("resnet50")
    weights = tensorflow_js(open_parcel(ZOO["resnet50"].parcel))
    theirs = plain_nets.resnet(weights, (3, 4, 6, 3), caffe(images))
    np.testing.assert_allclose(model.logits(images), theirs, atol=1e-3)


def test_efficientnet_b0_is_its_packages(
    pictures: tuple[NDArray[np.uint8], NDArray[np.int64]],
) -> None:
    images, model = pictures[0][:2], model_of("efficientnet_b0")
    weights = tensorflow_js(open_parcel(ZOO["efficientnet_b0"].parcel))
    mean, std = (
        weights[f"StatefulPartitionedCall/model/tf_op_layer_BroadcastTo{place}/input"]
        for place in ("/BroadcastTo", "_1/BroadcastTo_1")
    )
    theirs = plain_nets.efficientnet(weights, B0, (images - mean) / std)
    np.testing.assert_allclose(model.logits(images), theirs, atol=1e-3)


def test_mobilenet_is_what_litert_runs(
    pictures: tuple[NDArray[np.uint8], NDArray[np.int64]], tmp_path: Path
) -> None:
    if not find_spec("ai_edge_litert"):
        pytest.skip("LiteRT is not installed")
    model = model_of("mobilenet_v1")
    (content,) = open_parcel(ZOO["mobilenet_v1"].parcel).values()
    (tmp_path / "net.tflite").write_bytes(content)
    theirs = load_model(f"tflite:{tmp_path / 'net.tflite'}").logits(pictures[0])[:, 1:]
    ours = model.logits(pictures[0])
    # The file ends in a softmax, so its logits are known but for a constant.
    shift = (ours - theirs).mean(axis=1, keepdims=True)
    kept = theirs > -50
    np.testing.assert_allclose((ours - theirs - shift)[kept], 0, atol=2e-3)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_lite_is_what_its_own_code_computes(
    number: int, pictures: tuple[NDArray[np.uint8], NDArray[np.int64]], wheels: Path
) -> None:
    ours = model_of(f"efficientnet_lite{number}")
    sys.modules.pop("efficientnet_lite_pytorch", None)
    theirs = lite_networks(wheels)[number]
    assert ours.preprocessing == theirs.preprocessing
    np.testing.assert_allclose(
        ours.logits(pictures[0]), theirs.logits(pictures[0]), rtol=1e-4, atol=1e-4
    )
