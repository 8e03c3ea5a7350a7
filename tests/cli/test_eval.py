"""`hardy eval`, from its arguments to its messages, exit codes and what is stored."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.images.datasets import CLASSES
from hardy.store.reader import find_runs
from tests.suites.helpers import write_photos, write_rows


@pytest.fixture
def run(run, tmp_path: Path):
    """`hardy eval ...` beside rows.npz, 40 images."""
    write_rows(tmp_path, 40)
    (tmp_path / "model.joblib").write_bytes(b"a pickle")
    return partial(run, "eval")


FEW = ("--suite", "cifar10_c", "--images", "rows.npz", "--only", "contrast")


def test_what_is_done_to_photographs_is_said(run, tmp_path: Path) -> None:
    write_photos(tmp_path / "photos")
    few = ("--only", "contrast", "--severities", "1", "--own-classes", "--subset", "2")
    code, out, _ = run("fake:2", "--suite", "tiny_imagenet_c", "--images", "photos", *few)
    assert code == 0
    assert out.splitlines()[2] == (
        "prepared by the suite's recipe resize64_exact@1: Pillow's antialiased bilinear filter to "
        "exactly 64 x 64, aspect ratio not kept, no crop"
    )


def test_two_models(run) -> None:
    code, out, err = run("fake:10", "fake:10:1", *FEW)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("40 images of 10 classes")
    assert lines[1] == "6 cells of CIFAR-10-C, 240 predictions per model"
    assert lines[2] == "fake:10 on cpu, float32: bytes as they are"
    assert "fake:10:1: mean error" in out
    assert "1 corruption × 5, 40 images, cifar10_c v1, on the fly" in out
    assert lines[-1] == "stored in runs; see `hardy score runs`"
    assert [len(found.ids) for found in find_runs(Path("runs"))] == [40, 40]


def test_a_natural_shift_is_named_by_its_folder(run, tmp_path: Path) -> None:
    for wnid in hardy.suites.load("imagenet_r").shift.kept:
        (tmp_path / "imagenet-r" / wnid).mkdir(parents=True)
        Image.new("RGB", (20, 24), "red").save(tmp_path / "imagenet-r" / wnid / "art_0.jpg")
    code, out, _ = run("fake:1000", "--suite", "imagenet_r", "--files", "imagenet-r")
    assert code == 0
    assert "fake:1000: accuracy" in out
    assert "200 of 30,000 images, imagenet_r v1, official files" in out
    assert "logits of 200 of 1,000 classes" in out
    code, _, err = run("fake:1000", "--suite", "imagenet_a", "--files", "imagenet-r")
    assert code == 2
    assert "expected the 200 folders of ImageNet-A in imagenet-r" in err


def test_names_of_the_users_own(run) -> None:
    """They are how a model is called, also where it is stored already; not what it is."""
    assert run("fake:10", *FEW)[0] == 0
    before = [found.folder for found in find_runs(Path("runs"))]
    code, out, err = run("fake:10", "fake:10:1", *FEW, "--name", "old", "--name", "new")
    assert (code, err) == (0, "")
    assert "240 of 480 predictions are stored already" in out
    assert "\nold: mean error" in out
    stored = {found.model: found.folder for found in find_runs(Path("runs"))}
    assert sorted(stored) == ["new", "old"]
    assert stored["old"] == before[0]
    assert stored["new"].name.startswith("new--cifar10_c--")
    assert run("fake:10", *FEW)[0] == 0
    assert {found.model for found in find_runs(Path("runs"))} == {"new", "old"}, "they last"


def test_what_was_asked_for_is_scored_also_where_more_is_stored(run) -> None:
    assert run("fake:10", *FEW)[0] == 0
    less = (*FEW, "--severities", "3", "--subset", "20")
    code, out, err = run("fake:10", *less)
    assert (code, err) == (0, "")
    assert "1 corruption, severity 3, 20 of 40 images, cifar10_c v1" in out
    more = "the store has more, 6 cells and 40 images in all, see `hardy score`"
    assert f"this is what was asked for; {more}" in out
    asked = {"suite": "cifar10_c", "images": "rows.npz", "only": "contrast"}
    (part,) = hardy.evaluate(["fake:10"], **asked, severities=3, subset=20)
    alone = hardy.evaluate("fake:10", **asked, severities=3, subset=20, store="alone")
    assert part.score()["mean error"].value == alone.score()["mean error"].value
    assert part.score().on(part.asked.images).headline[0].circumstances.levels == (3,)
    whole = hardy.evaluate("fake:10", **asked).score()
    assert whole["mean error"].circumstances.images == 40
    assert more not in str(whole)
    (many,) = hardy.evaluate(models=["fake:10"], **asked, severities=3, subset=20)
    assert str(many.score()) == str(part.score())


def test_a_second_run_of_one_name_says_why_it_is_begun(run) -> None:
    assert run("fake:10", *FEW)[0] == 0
    (before,) = find_runs(Path("runs"))
    assert "a run of its own" not in run("fake:10", *FEW)[1], "it goes on"
    _, out, _ = run("fake:10", *FEW, "--seed", "7")
    line = f"a run of its own beside {before.folder.name}, which has its name: the seed 0 there"
    assert line in out
    _, out, _ = run("fake:10:1", "--name", "fake:10", *FEW, "--seed", "8")
    assert "which has its name: the seed" in out
    _, out, _ = run("fake:10:2", "--name", "fake:10", *FEW)
    assert "which has its name: weights, layers or code are others" in out


def test_models_in_a_file(run) -> None:
    text = '[[model]]\nmodel = "fake:10"\nname = "plain"\n[[model]]\nmodel = "fake:10:1"\n'
    Path("models.toml").write_text(text)
    code, _, err = run("models.toml", "fake:10:2", *FEW)
    assert (code, err) == (0, "")
    models = {found.model for found in find_runs(Path("runs"))}
    assert models == {"plain", "fake:10:1", "fake:10:2"}
    with pytest.raises(InputError, match=r'file of models in a list, \["models.toml"\], got it al'):
        hardy.evaluate("models.toml", suite="cifar10_c", images="rows.npz")
    runs = hardy.evaluate(["models.toml"], suite="cifar10_c", images="rows.npz", only="contrast")
    assert [one.model for one in runs] == ["plain", "fake:10:1"]


def test_many_models_of_which_some_fail(run) -> None:
    Path("zoo.txt").write_text("# all\nfake:10\nours = fake:10:1\nfake:9\n", encoding="utf-8")
    code, out, err = run("--models", "zoo.txt", *FEW)
    assert code == 1
    assert "models 1-3 of 3\nfake:10 on cpu" in out
    assert "\nours: mean error" in out
    assert err.startswith("1 model could not be used:\n  fake:9: expected logits for 10 classes")
    assert "--own-classes" in err
    Path("zoo.txt").write_text("fake:10\nours = fake:10:1\n", encoding="utf-8")
    code, out, err = run("--models", "zoo.txt", *FEW)
    assert (code, err) == (0, "")
    assert out.startswith("fake:10: mean error"), "nobody was shown anything"
    assert run("fake:10", "--models", "zoo.txt", *FEW)[0] == 2


def test_dry_run_writes_nothing(run) -> None:
    code, out, err = run("fake:10", "fake:10:1", *FEW, "--dry-run")
    assert (code, err) == (0, "")
    assert "6 cells × 40 images: 480 predictions in all" in out
    assert "about 21.6 kB in runs" in out
    assert "by a timed sample" in out
    assert not Path("runs").exists()


def test_subset(run) -> None:
    code, out, _ = run("fake:10", *FEW, "--images-per-class", "2", "--severities", "1,3")
    assert code == 0
    assert "of which 20 images" in out
    assert "20 of 40 images" in out
    (found,) = find_runs(Path("runs"))
    assert np.bincount(found.labels).tolist() == [2] * 10


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("resnet50",), "resnet50"),
        (
            ("fake:10", "--subset", "4", "--images-per-class", "2"),
            "or --images-per-class, how many",
        ),
        (("fake:10", "--batch", "many"), 'number of images or "auto", got "many"'),
        (("fake:10", "--mean", "0.5,0.5"), 'such as 0.485,0.456,0.406, got "0.5,0.5"'),
        (("fake:10", "--severities", "6"), "severities among 1, 2, 3, 4, 5"),
        (("fake:9",), "expected logits for 10 classes, got 9"),
        (("sklearn:model.joblib",), "--trust"),
        (("onnx:missing.onnx",), "missing.onnx"),
        (("fake:10", "fake:10:1", "--name", "a"), "a --name for each of 2 models"),
        (("fake:10@none.pt",), "fake:10 @ none.pt takes no checkpoint"),
    ],
)
def test_refusals(run, words: tuple[str, ...], message: str) -> None:
    code, _, err = run(*words, *FEW)
    assert code == 2
    assert message in err
    assert err.startswith("error: ")


def test_labels_outside_the_range(run) -> None:
    arrays = dict(np.load("rows.npz"))
    np.savez("rows.npz", images=arrays["images"], labels=arrays["labels"] + 1)
    code, _, err = run("fake:10", *FEW)
    assert code == 2
    assert "expected labels from 0 to 9, the classes of cifar10_c, got 10" in err


def test_imagenet_folders_must_have_its_names(run, tmp_path: Path) -> None:
    write_photos(tmp_path / "val", 4)
    words = ("fake:1000", "--suite", "imagenet_c", "--images", "val", "--only", "contrast")
    code, _, err = run(*words)
    assert code == 2
    assert "WordNet names" in err
    assert "n00000000" in err
    code, out, err = run("fake:2", *words[1:], "--own-classes", "--severities", "1")
    assert (code, err) == (0, "")
    assert "AlexNet" not in out


def test_folders_of_other_classes_are_not_taken_for_cifars(run, tmp_path: Path) -> None:
    for number, name in enumerate(("zebra", "yak", *CLASSES[2:])):
        (tmp_path / "ten" / name).mkdir(parents=True)
        grey = Image.new("RGB", (32, 32), (20 * number,) * 3)
        grey.save(tmp_path / "ten" / name / "one.png")
    words = ("fake:10", "--suite", "cifar10_c", "--images", "ten", "--only", "contrast")
    code, _, err = run(*words)
    assert code == 2
    assert "expected the names of CIFAR-10's classes, such as airplane, got 2 others" in err
    assert "(yak, zebra)" in err
    code, _, err = run(*words, "--own-classes", "--severities", "1")
    assert (code, err) == (0, "")


def test_unusable_images_end_with_1_and_the_rest_is_kept(run, tmp_path: Path) -> None:
    write_photos(tmp_path / "val", 4)
    bad = tmp_path / "val" / "n00000000" / "<b>\x1b[31m.JPEG"
    bad.write_bytes(b"")
    words = ("--suite", "imagenet_c", "--images", "val", "--only", "contrast", "--own-classes")
    code, out, err = run("fake:2", *words, "--severities", "1")
    assert code == 1
    assert "1 image could not be used" in err
    assert "<b>\\x1b[31m" in err
    assert "1 image is left out: 1 that could not be read" in out


def test_a_warning_is_loud_and_does_not_stop_the_run(run, monkeypatch: pytest.MonkeyPatch) -> None:
    from hardy.run import prepared
    from hardy.run.preflight import Checked

    monkeypatch.setattr(prepared, "check", lambda *_, **__: Checked(0.5, 40, ("wrong `mean`",)))
    code, out, err = run("fake:10", *FEW)
    assert (code, err) == (0, "WARNING: wrong --mean\n")
    assert "note: wrong --mean\n" in out, "options are spelled alike"
    # It was told: a run that goes on is not checked again.
    assert run("fake:10", *FEW)[2] == ""
    (found,) = find_runs(Path("runs"))
    assert found.details["sessions"][0]["checked_accuracy"] == 0.5


@pytest.mark.parametrize(("side", "said"), [(224, True), (225, False)])
def test_crops_that_are_cropped_again_are_told(run, side: int, said: bool) -> None:
    folder = Path("crops/n01440764")
    folder.mkdir(parents=True)
    Image.new("RGB", (side, side)).save(folder / "a.png")
    wanted = ("--suite", "imagenet_c", "--images", "crops", "--only", "contrast", "--dry-run")
    out = run("fake:1000", *wanted)[1]
    line = "the first images are 224 x 224 already, and go through the suite's recipe"
    assert (line in " ".join(out.split())) == said
    np.savez("crops.npz", images=np.zeros((1, 224, 224, 3), np.uint8), labels=[0])
    assert line not in run("fake:1000", *(w.replace("crops", "crops.npz") for w in wanted))[1]
