"""What a run refuses: models, images and weights that are not what they should be, or were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardy
from hardy.errors import InputError
from hardy.evaluation import evaluate
from tests.run.runs import FEW, Counting, one
from tests.store.stores import contents_hash
from tests.suites.helpers import write_photos


def test_other_pixels_under_the_same_ids_are_refused(rows: Path, tmp_path: Path) -> None:
    evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW)
    arrays = dict(np.load(rows))
    arrays["images"] = arrays["images"] + np.uint8(1)
    np.savez(rows, **arrays)
    with pytest.raises(InputError, match="other pixels"):
        evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW)


def test_nan_and_wrong_width_keep_what_was_there(rows: Path, tmp_path: Path) -> None:
    class Broken(Counting):
        def logits(self, images, preprocessing=None):
            logits = super().logits(images)
            if self.seen > 100:
                logits[3, 2] = np.nan
            return logits

    with pytest.raises(InputError, match=r"fake:10: expected finite logits.*1 of 20 images: 3"):
        evaluate(Broken(), images=rows, store=tmp_path / "runs", workers=1, **FEW)
    model = Counting()
    evaluate(model, images=rows, store=tmp_path / "runs", workers=1, **FEW)
    assert model.seen == 1 + 40 + 20 * 11 - 80
    with pytest.raises(InputError, match=r"fake:7: expected logits for 10 classes, got 7"):
        evaluate("fake:7", images=rows, store=tmp_path / "runs", **FEW)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"model": []}, "at least one model"),
        ({"model": ["fake:10", "fake:10"]}, "which are the same"),
        ({"model": ["fake:10", "fake:10:1"], "checkpoint": "x"}, "one model for the checkpoint"),
        ({"images": None}, "expected images to evaluate on"),
        ({"only": ["mist"]}, "mist"),
        ({"subset": 0}, "`subset` from 1 to 20"),
        ({"images_per_class": 3}, "`images_per_class` from 1 to 2"),
        ({"subset": 5, "images_per_class": 1}, "got both"),
        ({"files": "nowhere"}, "nowhere"),
        ({"workers": 0}, "at least 1 worker"),
        ({"seed": -1}, "expected a seed from 0"),
    ],
)
def test_refusals(rows: Path, tmp_path: Path, what: dict[str, Any], message: str) -> None:
    words = {"model": "fake:10", "images": rows, **FEW, **what}
    with pytest.raises(InputError, match=message):
        evaluate(words.pop("model"), store=tmp_path / "runs", **words)


def test_different_models_of_one_name_are_refused(rows: Path, tmp_path: Path) -> None:
    """Their warnings and their accuracy are kept by name."""
    first, second = Counting("fake:10:1"), Counting("fake:10:2")
    first.name = second.name = "Net"
    what: dict[str, Any] = {"images": rows, "store": tmp_path / "runs", **FEW}
    with pytest.raises(InputError, match=r'two called "Net"; give each one of its own by `name`'):
        evaluate([first, second], **what)
    assert (first.seen, second.seen) == (0, 0)
    assert not (tmp_path / "runs").exists()


def test_a_model_cannot_change_what_others_see(rows: Path, tmp_path: Path) -> None:
    class Greedy(Counting):
        def logits(self, images, preprocessing=None):
            with pytest.raises(ValueError, match="read-only"):
                images[...] = 0
            return super().logits(images)

    greedy, honest = Greedy("fake:10:1"), Counting("fake:10:2")
    runs = evaluate([greedy, honest], images=rows, store=tmp_path / "a", **FEW)
    alone = one(evaluate("fake:10:2", images=rows, store=tmp_path / "b", **FEW))
    assert isinstance(runs, list)
    assert contents_hash(runs[1].stored) == contents_hash(alone.stored)


def test_pixels_of_any_image_may_have_changed(rows: Path, tmp_path: Path) -> None:
    evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW)
    arrays = dict(np.load(rows))
    arrays["images"][19] //= 2
    np.savez(rows, **arrays)
    with pytest.raises(InputError, match="other pixels"):
        evaluate("fake:10", images=rows, store=tmp_path / "runs", **FEW)


def test_a_store_among_the_images_is_refused(tmp_path: Path) -> None:
    folder = write_photos(tmp_path / "val", 2)
    with pytest.raises(InputError, match="lies in the images' folder"):
        evaluate("fake:2", suite="imagenet_c", images=folder, store=folder / "runs")


def test_a_failed_start_leaves_nothing(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="got 7"):
        evaluate("fake:7", images=rows, store=tmp_path / "runs", **FEW)
    assert not (tmp_path / "runs").exists()


def test_a_function_with_other_weights_is_noticed(rows: Path, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(size=(3, 10))

    def classify(images: Any) -> Any:
        return images.mean((1, 2)) @ weights

    run = one(evaluate(classify, images=rows, store=tmp_path, **FEW))
    assert one(evaluate(classify, images=rows, store=tmp_path, **FEW)).folder == run.folder
    weights[:, :5] += 0.05
    with pytest.raises(InputError, match="the weights or the images have changed"):
        evaluate(classify, images=rows, store=tmp_path, **FEW)
    named = one(evaluate(classify, images=rows, store=tmp_path, name="another", **FEW))
    assert named.folder != run.folder


def test_other_weights_show_though_clean_images_hide_them(rows: Path, tmp_path: Path) -> None:
    """Certain of every clean image before and after, and another model all the same."""
    clean = {image.tobytes(): k % 10 for k, image in enumerate(np.load(rows)["images"])}
    drift = np.zeros(10)

    def classify(images: Any) -> Any:
        known = np.array([clean.get(np.ascontiguousarray(i).tobytes(), -1) for i in images])
        logits = images.mean((1, 2)) @ np.linspace(-1, 1, 30).reshape(3, 10) / 50 + drift
        logits[known >= 0] = 1000 * np.eye(10)[known[known >= 0]]
        return logits

    evaluate(classify, images=rows, store=tmp_path, **FEW)
    drift[3] = 1
    with pytest.raises(InputError, match="of them differ"):
        evaluate(classify, images=rows, store=tmp_path, **FEW)


def test_a_suite_of_small_images_wants_small_images(tmp_path: Path) -> None:
    images = np.zeros((4, 48, 40, 3), np.uint8)
    with pytest.raises(
        InputError, match=r"images of 32 x 32 for CIFAR-10-C.*got width 40, height 48"
    ):
        evaluate("fake:10", images=images, labels=np.arange(4), store=tmp_path, **FEW)


def test_the_same_model_by_another_name_is_the_same_run(rows: Path, tmp_path: Path) -> None:
    model = Counting()
    first = one(evaluate("fake:10", images=rows, store=tmp_path, **FEW))
    model.name = "the fake"
    second = one(evaluate(model, images=rows, store=tmp_path, **FEW))
    assert second.folder == first.folder
    assert model.seen == 1 + 40


def test_runs_on_other_pixels_are_not_compared(rows: Path, tmp_path: Path) -> None:
    """Rows of arrays have the same ids everywhere."""
    arrays = np.load(rows)
    runs = [
        one(
            evaluate(f"fake:10:{seed}", images=arrays["images"] + np.uint8(seed),
                     labels=arrays["labels"], store=tmp_path, **FEW)
        )
        for seed in (0, 1)
    ]  # fmt: skip
    with pytest.raises(InputError, match="different image sets"):
        hardy.compare(*runs)
    with pytest.raises(InputError, match="image"):
        runs[0].score(reference=runs[1])


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty"):
        evaluate("fake:10", images=tmp_path / "empty", store=tmp_path / "runs", **FEW)
    assert not (tmp_path / "runs").exists()


def test_trust_that_nothing_asks_for_is_told(rows: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="`trust=True` changes nothing: it is for joblib files"):
        evaluate("fake:10", images=rows, store=tmp_path, trust=True, **FEW)
