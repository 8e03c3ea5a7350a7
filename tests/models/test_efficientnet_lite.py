"""A real classifier on real photographs, by two routes."""

from pathlib import Path

import numpy as np
import pytest

from hardy.images import load_images, open_images
from hardy.models import load_model


@pytest.fixture(scope="module")
def example():
    import examples.efficientnet_lite

    return examples.efficientnet_lite


@pytest.fixture(scope="module")
def photographs(example, tmp_path_factory):
    folder = example.photographs(tmp_path_factory.mktemp("photos") / "images")
    source = open_images(folder, id_rule="file_stem")
    (batch,) = load_images(source, "resize256_crop224@1")
    return dict(zip(batch.ids, batch.images, strict=True))


def test_it_knows_what_is_on_the_photographs(example, photographs):
    model = load_model("torch:examples.efficientnet_lite:model")
    tops = model.logits(np.stack(list(photographs.values()))).argmax(axis=1).tolist()
    rights = {Path(name).stem: right for (_, name), right in example.PHOTOS.items()}
    for id, top in zip(photographs, tops, strict=True):
        assert top in rights[id], id
    assert model.preprocessing.mean == (0.498, 0.498, 0.498)
    assert model.preprocessing.interpolation == "bicubic"


def test_the_script(example, capsys):
    """Both routes end to end, through the store: the same predictions, or it says so and stops."""
    example.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("torch: mean error")
    assert lines[1].startswith("clean error 16.7"), "a cat that it takes for another kind of cat"
    assert sum(line.count("gaussian_noise") for line in lines) == 6
    assert lines[-1].startswith("ONNX predicts the same, confidences at most")
    assert float(lines[-1].split()[-2]) < 1e-4
