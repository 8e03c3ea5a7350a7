"""Data sets and classifiers of Hugging Face's libraries themselves; nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import hardy
from hardy.images import open_images
from hardy.images.dataset_objects import source_of_dataset
from hardy.models import load_model
from tests.photos import random_images

IMAGES = random_images(20, 32, 32)
LABELS = [n % 10 for n in range(20)]
NAMES = list("abcdefghij")
# These libraries warn of one another, and of torch, which is no fault of ours.
pytestmark = pytest.mark.filterwarnings("default")
FEW: Any = {"suite": "cifar10_c", "only": ["contrast"], "severities": 1, "own_classes": True}


@pytest.fixture
def data_set() -> Any:
    datasets = pytest.importorskip("datasets", reason="needs datasets: make test-extras")
    features = datasets.Features(image=datasets.Image(), label=datasets.ClassLabel(names=NAMES))
    columns = {"image": list(map(Image.fromarray, IMAGES)), "label": LABELS}
    return datasets.Dataset.from_dict(columns, features=features)


@pytest.fixture
def classifier(torchvision: None) -> Any:
    """A tiny vision transformer with weights by chance."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=8,
        num_labels=10,
    )
    return transformers.ViTForImageClassification(config).eval()


@pytest.mark.parametrize("format", [None, "numpy", "torch"])
def test_a_data_set_in_python(data_set: Any, format: str | None) -> None:
    source = source_of_dataset(data_set.with_format(format))
    assert source.classes == tuple(NAMES)
    assert source.labels is not None
    assert source.labels.tolist() == LABELS
    for index in (0, 7, 19):
        np.testing.assert_array_equal(source.read(index), IMAGES[index])


def test_a_folder_that_it_saved(data_set: Any, tmp_path: Path) -> None:
    """One data set, or several in a dictionary."""
    data_set.save_to_disk(tmp_path / "one", num_shards=2)
    data_set.train_test_split(test_size=5, shuffle=False).save_to_disk(tmp_path / "split")
    data_set.to_parquet(tmp_path / "set.parquet")
    for where, rows in (
        ("one", range(20)),
        ("split:test", range(15, 20)),
        ("set.parquet", range(20)),
    ):
        source = open_images(f"{tmp_path / where}")
        assert source.classes == tuple(NAMES)
        assert source.labels is not None
        assert source.labels.tolist() == [LABELS[row] for row in rows]
        for index in (0, len(rows) - 1):
            np.testing.assert_array_equal(source.read(index), IMAGES[rows[index]])


def test_a_classifier_is_taken_as_it_is(classifier: Any) -> None:
    pixels = (torch.tensor(IMAGES).permute(0, 3, 1, 2) / 255 - 0.5) / 0.5
    with torch.no_grad():
        wanted = classifier(pixels).logits.numpy()
    override = hardy.models.Override(mean=(0.5,) * 3, std=(0.5,) * 3)
    model = load_model(classifier, preprocessing=override)
    np.testing.assert_allclose(model.logits(IMAGES), wanted, rtol=1e-4, atol=1e-5)


def test_both_together(data_set: Any, classifier: Any, tmp_path: Path) -> None:
    given = hardy.evaluate(classifier, images=data_set, store=tmp_path / "a", warn=print, **FEW)
    plain = hardy.evaluate(
        classifier, images=IMAGES, labels=LABELS, store=tmp_path / "b", warn=print, **FEW
    )
    assert str(given.score()) == str(plain.score())
