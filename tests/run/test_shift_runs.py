"""Natural shifts from their folders to scores, on stand-ins with the real names of folders.

A picture's colour tells a stand-in of a model which image it is shown, so that all logits are those
of a case that can be computed by hand.
"""

import json
from math import exp

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.images.labels import imagenet_classes
from hardy.models import Preprocessing
from hardy.run.marking import keep_classes, likeliest
from hardy.run.selection import open_subject
from hardy.suites import load, text_of

WNIDS = imagenet_classes()
CELL = hardy.suites.load("imagenet_r").counted[0]


def draw(path, number, border=0):
    """A picture of one colour, which tells a number below 4,096, with red around it."""
    pixels = np.full((20 + 2 * border, 24 + 2 * border, 3), (255, 0, 0), np.uint8)
    colour = (number // 64 * 4, number % 64 * 4, 0)
    pixels[border : 20 + border, border : 24 + border] = colour
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, "PNG")


def number_of(images):
    red, green = images[:, 112, 112, 0].astype(int), images[:, 112, 112, 1].astype(int)
    return red // 4 * 64 + green // 4


@pytest.fixture(scope="module")
def imagenet_a(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shifts") / "imagenet-a"
    return class_folders(folder, load("imagenet_a").shift.kept)


def class_folders(folder, names, border=0):
    """One image in each; its colour is its place among them."""
    for place, name in enumerate(names):
        draw(folder / name / "art_0.jpg", place, border)
    return folder


def model(logits_of):
    """A function of images that looks the logits of each up by its number."""
    return lambda images: np.stack([logits_of(number) for number in number_of(images)])


def logits(**values):
    found = np.zeros(1000, np.float32)
    for name, value in values.items():
        found[int(name.removeprefix("c"))] = value
    return found


def evaluate(logits_of, suite, store, **options):
    run = hardy.evaluate(
        model(logits_of), suite=suite, store=store, name="hand", workers=1, **options
    )
    return run, run.score()


def test_the_best_of_the_200_classes_is_compared_and_no_other(tmp_path):
    kept = [WNIDS.index(wnid) for wnid in load("imagenet_r").shift.kept]
    folder = class_folders(tmp_path / "imagenet-r", load("imagenet_r").shift.kept)
    assert 0 not in kept

    def answer(place):
        """Class 0, which does not count, is always the best; half of the others are right."""
        best = kept[place] if place % 2 else kept[place - 2]
        return logits(c0=9, **{f"c{best}": 5})

    run, scores = evaluate(answer, "imagenet_r", tmp_path / "runs", files=folder)
    assert scores["accuracy"].value == 50
    assert "200 of 30,000 images" in str(scores)
    assert "imagenet_r v1, official files, logits of 200 of 1,000 classes" in str(scores)
    got = run.stored.read([hardy.suites.cells.Cell(CELL, 1)], ["confidence", "rank", "top1"])
    assert got["confidence"] == pytest.approx(exp(5) / (exp(5) + 199))
    by_id = {id: place for place, id in enumerate(run.stored.ids)}
    for place, wnid in enumerate(load("imagenet_r").shift.kept[:10]):
        row = by_id[f"{wnid}/art_0"]
        assert (got["rank"][row, 0] == 0) is np.bool_(place % 2)
        assert got["top1"][row, 0] == (kept[place] if place % 2 else kept[place - 2])


def test_clean_images_of_the_same_classes_have_a_score_of_their_own(tmp_path, imagenet_a):
    kept, around = load("imagenet_a").shift.kept, imagenet_a.parent  # the folder around will do
    for place, wnid in enumerate([*kept[:30], "n01440764"]):  # a tench is none of the 200
        draw(tmp_path / "val" / wnid / f"ILSVRC2012_val_{place + 1:08d}.JPEG", 1000 + place)

    def answer(number):
        return logits(**{f"c{WNIDS.index(kept[number % 1000])}": 2 if number >= 1000 else -1})

    sources = {"files": around, "images": tmp_path / "val"}
    run, scores = evaluate(answer, "imagenet_a", tmp_path / "runs", **sources)
    assert scores["accuracy"].value == 0
    assert scores["clean accuracy"].value == 100
    assert scores["accuracy"].circumstances.images == 200
    assert scores["clean accuracy"].circumstances.images == 30
    assert [score.name for score in scores.headline] == [
        "accuracy",
        "RMS calibration error",
        "clean accuracy",
    ]
    again, _ = evaluate(answer, "imagenet_a", tmp_path / "runs", **sources)
    assert again.folder == run.folder  # the same call resumes


class Fed:
    """A model that knows clean images, if their pixels are made −1..1."""

    name = identity = "fed"
    known_accuracy = 0.6  # over all classes

    def __init__(self, mean):
        self.preprocessing = Preprocessing((mean,) * 3, (0.5, 0.5, 0.5), source="given")

    def logits(self, images, preprocessing=None):
        used, kept = preprocessing or self.preprocessing, load("imagenet_a").shift.kept
        wanted = [WNIDS.index(kept[number % 1000]) for number in number_of(images)]
        rows = np.zeros((len(images), 1000), np.float32)
        rows[np.arange(len(images)), wanted if used.mean[0] == 0.5 else 0] = 9
        return rows


@pytest.mark.parametrize(("mean", "told"), [(0.5, 0), (0.2, 1)])
def test_a_model_is_checked_on_the_clean_images(tmp_path, imagenet_a, mean, told):
    """What is known of the accuracy over all classes says nothing of 200."""
    kept = load("imagenet_a").shift.kept
    for place, wnid in enumerate(kept[:40]):
        draw(tmp_path / "val" / wnid / f"ILSVRC2012_val_{place + 1:08d}.JPEG", 1000 + place)
    warnings = []
    run = hardy.evaluate(
        Fed(mean),
        suite="imagenet_a",
        files=imagenet_a,
        images=tmp_path / "val",
        store=tmp_path / "runs",
        warn=warnings.append,
    )
    better = [text for text in warnings if "100.0 % with Inception's (−1..1) normalisation" in text]
    assert (len(warnings), len(better)) == (told, told)
    assert "not checked" not in str(run.score())


def test_without_clean_images_the_score_says_what_nobody_checked(tmp_path, imagenet_a):
    run = hardy.evaluate(Fed(0.5), suite="imagenet_a", files=imagenet_a, store=tmp_path / "runs")
    note = "preprocessing and class order not checked: that takes 30 clean images beside"
    assert note in str(run.score())


class OnDevice:
    """A model that answers with a tensor of half precision, as on a GPU."""

    name, identity, classes = "tensors", "tensors", 1000
    preprocessing, device, precision = None, "cpu", "bfloat16"

    def logits(self, images, preprocessing=None):
        torch = pytest.importorskip("torch")
        kept = [WNIDS.index(wnid) for wnid in load("imagenet_a").shift.kept]
        found = [logits(c0=9, **{f"c{kept[number]}": 5}) for number in number_of(images)]
        return torch.from_numpy(np.stack(found)).bfloat16()


def test_tensors_are_marked_like_arrays(tmp_path, imagenet_a):
    run = hardy.evaluate(OnDevice(), suite="imagenet_a", files=imagenet_a, store=tmp_path / "runs")
    assert run.score()["accuracy"].value == 100


def test_outliers_are_told_from_clean_images_by_confidence_over_200_classes(tmp_path):
    kept = load("imagenet_o").shift.kept
    class_folders(tmp_path / "imagenet-o", kept)
    for place, wnid in enumerate(kept[:40]):
        draw(tmp_path / "val" / wnid / f"ILSVRC2012_val_{place + 1:08d}.JPEG", 1000 + place)
    strange = {f"c{place}": 20 for place in range(1000) if WNIDS[place] not in kept}

    def answer(number):
        """All would be alike if other classes counted. The first 20 clean ones are as unsure."""
        sure = 5 if number >= 1020 else 1
        return logits(**{**strange, f"c{WNIDS.index(kept[0])}": sure})

    files = {"files": tmp_path, "images": tmp_path / "val"}
    _, scores = evaluate(answer, "imagenet_o", tmp_path / "runs", **files)
    assert scores["AUPR"].value == pytest.approx(100 * 200 / 220)
    assert scores["AUROC"].value == pytest.approx(75)
    with pytest.raises(InputError, match="expected ImageNet's validation images as `images`"):
        hardy.evaluate("fake:1000", suite="imagenet_o", files=tmp_path, store=tmp_path / "runs")


def test_any_class_of_an_objectnet_folder_is_right_and_the_red_border_is_cut_off(tmp_path):
    shift = load("objectnet").shift
    names = sorted(shift.folders)
    folder = tmp_path / "objectnet-1.0" / "images"
    class_folders(folder, names, border=2)
    draw(folder / "air_freshener" / "a.png", 500, border=2)  # ImageNet has no such class

    def answer(number):
        last = WNIDS.index(shift.folders[names[number]][-1])
        return logits(c0=9, **{f"c{last}": 5})

    run, scores = evaluate(answer, "objectnet", tmp_path / "runs", files=tmp_path)
    assert scores["accuracy"].value == 100
    assert len(run.stored.ids) == 113
    assert "logits of 125 of 1,000 classes, as 113 names" in str(scores)
    subject = open_subject(load("objectnet"), images=None, files=tmp_path)
    assert not (subject.variants.read(0).pixels[..., 0] == 255).any()


def test_real_counts_any_of_its_labels_and_leaves_images_without_one_out(tmp_path):
    for place in range(4):
        draw(tmp_path / "val" / f"ILSVRC2012_val_{place + 1:08d}.JPEG", place)
    (tmp_path / "real.json").write_text(json.dumps([[3, 7], [], [5], [8, 2]]))
    best = [logits(c7=2), logits(c7=2), logits(c6=2), logits(c8=2, c2=1)]
    files = {"images": tmp_path / "val", "labels": tmp_path / "real.json"}
    run, scores = evaluate(lambda number: best[number], "imagenet_real", tmp_path / "r", **files)
    assert scores["accuracy"].value == pytest.approx(200 / 3)
    assert len(run.stored.ids) == 3
    assert "3 of 46,837 images" in str(scores)
    for wrong in ({"images": [3, 1000]}, [[-1]], []):
        (tmp_path / "real.json").write_text(json.dumps(wrong))
        with pytest.raises(InputError, match=r"expected the file real\.json of ReaL"):
            open_subject(load("imagenet_real"), **files)
    (tmp_path / "real.json").write_text("[[3]]")
    with pytest.raises(InputError, match=r"which real\.json numbers, got ILSVRC2012_val_00000002"):
        open_subject(load("imagenet_real"), **files)
    with pytest.raises(InputError, match=r"and the file real\.json as `labels`, without `files`"):
        open_subject(load("imagenet_real"), images=None, files=tmp_path)


def test_folders_of_imagenet_v2_are_numbers_not_places_in_a_sorted_list(tmp_path):
    for number in range(1000):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "0.jpeg").write_bytes(b"")
    for number in (2, 10):
        draw(tmp_path / str(number) / "0.jpeg", number)
    subject = open_subject(load("imagenet_v2"), images=None, files=tmp_path)
    for number in (2, 10):
        row = subject.ids.index(f"{number}/0")
        assert subject.classes.labels[row] == number
        assert number_of(subject.variants.read(row).pixels[None]) == [number]
    (tmp_path / "7" / "0.jpeg").rename(tmp_path / "7" / "1.jpeg")
    (tmp_path / "7").rename(tmp_path / "1000")
    with pytest.raises(InputError, match="1 are missing, such as 7, and 1 are others, such as 10"):
        open_subject(load("imagenet_v2"), images=None, files=tmp_path)


@pytest.mark.parametrize(
    ("suite", "folder", "file"),
    [
        ("imagenet_sketch", "sketch", "sketch_{}.JPEG"),
        ("imagenet_stylized", "val", "ILSVRC2012_val_{:08d}.png"),
    ],
)
def test_sets_of_all_classes_are_found_in_the_folder_that_their_authors_name(
    tmp_path, suite, folder, file
):
    for place, wnid in enumerate(WNIDS):
        (tmp_path / folder / wnid).mkdir(parents=True)
        (tmp_path / folder / wnid / file.format(place)).write_bytes(b"")
    subject = open_subject(load(suite), images=None, files=tmp_path)
    labels = dict(zip(subject.ids, subject.classes.labels, strict=True))
    for place in (0, 9, 10, 999):
        stem = file.format(place).partition(".")[0]
        assert labels[f"{WNIDS[place]}/{stem}"] == place


def test_images_of_a_set_without_a_certain_count_are_counted_without_clean_ones(tmp_path):
    names = sorted(load("objectnet").shift.folders)
    class_folders(tmp_path / "images", names, border=2)
    wnid = load("objectnet").shift.folders[names[0]][0]
    for place in range(20):
        draw(tmp_path / "val" / wnid / f"ILSVRC2012_val_{place + 1:08d}.JPEG", place)
    files = {"files": tmp_path / "images", "images": tmp_path / "val"}
    _, scores = evaluate(lambda number: logits(c0=5), "objectnet", tmp_path / "runs", **files)
    assert scores["accuracy"].circumstances.images == 113
    assert scores["accuracy"].circumstances.total is None
    assert scores["clean accuracy"].circumstances.images == 20


def test_other_folders_and_too_many_images_are_refused(tmp_path, imagenet_a):
    folder = imagenet_a
    with pytest.raises(
        InputError,
        match=r"expected the 200 folders of ImageNet-R in .*, but 114 are missing, such as "
        r"n01443537, and 114 are others",
    ):
        open_subject(load("imagenet_r"), images=None, files=folder)
    text = text_of(load("imagenet_a")).replace('"imagenet_a"', '"mine"')
    (tmp_path / "mine.toml").write_text(text.replace("count = 7500", "count = 199"))
    with pytest.raises(InputError, match=r"expected 199 images of ImageNet-A in .*, got 200"):
        open_subject(load(str(tmp_path / "mine.toml")), images=None, files=folder)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"own_classes": True}, "expected no `own_classes`, `classes` or `seed` for imagenet_a"),
        ({"seed": 3}, "and nothing is drawn"),
        ({"files": None}, "expected the folder of ImageNet-A as `files`, got none"),
        ({"only": ["fog"]}, 'unknown shift of imagenet_a "fog"'),
        ({"severities": [3]}, "expected severities among 1"),
    ],
)
def test_what_a_natural_shift_has_not_is_refused(imagenet_a, options, match):
    with pytest.raises(InputError, match=match):
        open_subject(load("imagenet_a"), **{"images": None, "files": imagenet_a, **options})


def test_a_model_of_other_classes_is_refused_before_anything_is_stored(tmp_path, imagenet_a):
    folder = imagenet_a
    with pytest.raises(InputError, match=r"got 10; imagenet_a is for models of ImageNet's classes"):
        hardy.evaluate("fake:10", suite="imagenet_a", files=folder, store=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    with pytest.raises(InputError, match="with `until`, got imagenet_a, of which each image is sh"):
        hardy.evaluate("fake:1000", suite="imagenet_a", files=folder, until=1, store=tmp_path / "r")
    with pytest.raises(InputError, match="expected a suite that is made of images"):
        hardy.build("imagenet_a", images=folder, out=tmp_path / "out")


def test_logits_of_classes_that_do_not_count_have_no_probability():
    some = keep_classes(np.array([[3.0, 9.0, 1.0, 2.0]], np.float32), (0, 2))
    assert some.argmax(axis=1).tolist() == [0]
    shares = np.exp(some - some.max())
    assert shares / shares.sum() == pytest.approx(np.array([[1, 0, exp(-2), 0]]) / (1 + exp(-2)))
    assert keep_classes(np.ones((1, 3)), ()).tolist() == [[1, 1, 1]]


def test_of_several_right_classes_the_likeliest_is_the_label():
    exact = np.array([[1.0, 3.0, 2.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert likeliest(exact, [(0, 2), (0, 1), ()]).tolist() == [2, 0, -1]
