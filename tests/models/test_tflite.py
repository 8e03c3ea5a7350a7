from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hardy.errors import HardyError, InputError
from hardy.models import Preprocessing, load_model
from hardy.models.calling import normalised, resized
from hardy.run.preflight import check
from tests.photos import random_images

pytest.importorskip("ai_edge_litert", reason="LiteRT, which runs TensorFlow Lite, is not installed")
from tests.models.tflite_files import (
    OPERATOR,
    SCORES,
    WEIGHTS,
    Writer,
    normalisation,
    write,
    write_quantised,
)

IMAGES = random_images(7, 12, 12, seed=5)
IMAGES[:, ::2] //= 3
HALF = Preprocessing((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 12)


def by_hand(images: np.ndarray, used: Preprocessing) -> np.ndarray:
    pixels = normalised(resized(images, used.size, used.interpolation), used)
    return pixels.mean(axis=(1, 2)) @ WEIGHTS.T


@pytest.mark.parametrize(
    "shape", [(-1, 12, 12, 3), (1, 12, 12, 3), (3, 12, 12, 3), (10, 3, 12, 12), (-1, -1, -1, 3)]
)
@pytest.mark.parametrize("batch", ["auto", 2])
def test_layouts_and_batches(shape, batch, tmp_path: Path) -> None:
    model = load_model(f"tflite:{write(tmp_path / 'm.tflite', shape)}", batch=batch)
    assert (model.device, model.precision) == ("cpu", "float32")
    assert "mean 0.5 0.5 0.5, std 0.5 0.5 0.5 (−1..1, since the file has no metadata" in str(
        model.preprocessing
    )
    out = model.logits(IMAGES)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, by_hand(IMAGES, HALF), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.logits(IMAGES[:1]), out[:1], rtol=1e-5, atol=1e-6)


def test_preprocessing_from_metadata_or_as_asked(tmp_path: Path) -> None:
    stated = normalisation([127.0, 128.0, 129.0], [51.0, 102.0, 204.0])
    path = write(tmp_path / "m.tflite", metadata=stated)
    model = load_model(f"tflite:{path}")
    assert "the file's metadata" in str(model.preprocessing)
    np.testing.assert_allclose(model.preprocessing.mean, np.array([127, 128, 129]) / 255)
    np.testing.assert_allclose(model.preprocessing.std, [0.2, 0.4, 0.8])
    expected = by_hand(IMAGES, model.preprocessing)
    np.testing.assert_allclose(model.logits(IMAGES), expected, rtol=1e-4, atol=1e-5)
    asked = load_model(f"tflite:{path}", preprocessing=HALF)
    np.testing.assert_allclose(asked.logits(IMAGES), by_hand(IMAGES, HALF), rtol=1e-4, atol=1e-5)
    one = load_model(
        f"tflite:{write(tmp_path / 'one.tflite', metadata=normalisation([127.5], [255.0]))}"
    )
    assert one.preprocessing == Preprocessing((0.5,) * 3, (1.0,) * 3, 12)


def test_a_fixed_size_is_met_by_resizing(tmp_path: Path) -> None:
    model = load_model(f"tflite:{write(tmp_path / 'm.tflite', (1, 20, 20, 3))}")
    assert model.preprocessing.size == 20
    expected = by_hand(IMAGES, model.preprocessing)
    np.testing.assert_allclose(model.logits(IMAGES), expected, rtol=1e-4, atol=1e-5)


def test_after_a_softmax_logits_are_logarithms(tmp_path: Path) -> None:
    model = load_model(f"tflite:{write(tmp_path / 'm.tflite', softmax=True)}")
    scores = by_hand(IMAGES, HALF)
    expected = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.logits(IMAGES), expected, rtol=1e-4, atol=1e-5)
    assert check(model, np.repeat(IMAGES, 5, 0), np.repeat(scores.argmax(1), 5)).warnings == ()


@pytest.mark.parametrize(("kind", "zero"), [(np.uint8, 128), (np.int8, 0)])
def test_scales_of_whole_numbers_are_the_files(kind, zero, tmp_path: Path) -> None:
    path = write_quantised(tmp_path / "m.tflite", kind=kind, scale=(1 / 127.5, zero))
    model = load_model(f"tflite:{path}")
    assert model.precision == "int8"
    assert "bytes as they are, by its input's scale" in str(model.preprocessing)
    out = model.logits(IMAGES)
    steps = out / np.float32(SCORES[0]) + SCORES[1]
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-3)
    # A step of the output, of the mean and of the weights.
    expected = by_hand(IMAGES, model.preprocessing)
    np.testing.assert_allclose(out, expected, atol=2 * SCORES[0])
    assert np.abs(expected).max() > 10 * SCORES[0]


@pytest.mark.parametrize(("kind", "zero", "lowest"), [(np.uint8, 131, 0), (np.int8, 3, -128)])
def test_bytes_reach_a_quantised_input_unchanged(
    kind, zero, lowest, tmp_path: Path, monkeypatch
) -> None:
    path = write_quantised(tmp_path / "m.tflite", kind=kind, scale=(0.012566, zero))
    model = load_model(f"tflite:{path}")
    shown: list[np.ndarray] = []
    real = model._answer
    monkeypatch.setattr(model, "_answer", lambda pixels: real(shown.append(pixels) or pixels))
    every = np.zeros((1, 12, 12, 3), np.uint8)
    every.reshape(-1)[:256] = np.arange(256)
    model.logits(every)
    np.testing.assert_array_equal(shown[0].astype(int) - lowest, every)


def test_metadata_counts_for_whole_numbers_where_they_can_hold_it(tmp_path: Path) -> None:
    wide = {"scale": (0.0126, 131)}
    stated = write_quantised(
        tmp_path / "a.tflite", **wide, metadata=normalisation([127.0], [128.0])
    )
    model = load_model(f"tflite:{stated}")
    assert "the file's metadata" in str(model.preprocessing)
    expected = by_hand(IMAGES, model.preprocessing)
    np.testing.assert_allclose(model.logits(IMAGES), expected, atol=0.1)
    # 0 and 1 mean bytes: values up to 255 have no place in such an input.
    plain = write_quantised(tmp_path / "b.tflite", **wide, metadata=normalisation([0.0], [1.0]))
    assert "bytes as they are" in str(load_model(f"tflite:{plain}").preprocessing)


def test_a_share_of_nothing_has_a_logarithm(tmp_path: Path) -> None:
    path = write_quantised(tmp_path / "m.tflite", scale=(1 / 12.75, 128), softmax=True)
    out = load_model(f"tflite:{path}").logits(np.full((1, 12, 12, 3), 255, np.uint8))
    assert np.isclose(out, np.log(1 / 512)).any(), "below half a step of 1/256"
    shares = np.exp(out)
    assert np.isclose(shares[shares > 1 / 400] * 256, np.rint(shares[shares > 1 / 400] * 256)).all()


def test_identity(tmp_path: Path) -> None:
    path = write(tmp_path / "m.tflite")
    model = load_model(f"tflite:{path}")
    copy = tmp_path / "copy.tflite"
    copy.write_bytes(path.read_bytes())
    assert load_model(f"tflite:{copy}", batch=3).identity == model.identity
    other = write(tmp_path / "other.tflite", softmax=True)
    assert load_model(f"tflite:{other}").identity != model.identity
    asked = load_model(f"tflite:{path}", preprocessing=Preprocessing((0, 0, 0), (1, 1, 1)))
    assert asked.identity != model.identity


def test_the_runtime_says_nothing_of_its_own(tmp_path: Path, capfd) -> None:
    load_model(f"tflite:{write(tmp_path / 'm.tflite')}").logits(IMAGES)
    assert capfd.readouterr() == ("", "")


def damaged(data: bytes) -> dict[str, bytes]:
    draws = np.random.default_rng(0)
    found = {"nothing": b"", "noise": draws.bytes(2000), "head": data[:8] + draws.bytes(2000)}
    found |= {f"cut at {end}": data[:end] for end in (7, 100, len(data) // 2, len(data) - 9)}
    for number in range(20):
        spoilt = np.frombuffer(data, np.uint8).copy()
        places = draws.integers(8, len(data), 12)
        spoilt[places] = draws.integers(0, 256, 12)
        found[f"spoilt {number}"] = spoilt.tobytes()
    return found


def test_a_damaged_file_is_told_in_one_line(tmp_path: Path) -> None:
    """It may still run where only weights are spoilt; anything else is an error of Hardy's."""
    whole = write(tmp_path / "m.tflite", metadata=normalisation([127.0], [128.0])).read_bytes()
    path, said = tmp_path / "bad.tflite", {}
    for what, data in damaged(whole).items():
        path.write_bytes(data)
        try:
            load_model(f"tflite:{path}").logits(IMAGES)
        except HardyError as error:
            said[what] = str(error)
    assert len(said) > 15
    for what, line in said.items():
        assert "bad.tflite" in line, what
        assert "\n" not in line, what
    path.write_bytes(whole[:100])
    with pytest.raises(InputError, match=r"bad\.tflite is no file that LiteRT can run: ValueError"):
        load_model(f"tflite:{path}")


def test_metadata_that_cannot_be_read(tmp_path: Path) -> None:
    for packed in (b"\x10", b"\xff" * 64, normalisation([1.0, 2.0], [1.0])):
        path = write(tmp_path / "m.tflite", metadata=packed)
        with pytest.raises(InputError, match=r"m\.tflite: (its metadata|expected mean|expected a)"):
            load_model(f"tflite:{path}")


@pytest.mark.parametrize("shape", [(1, 12, 12, 4), (1, 3), (1, 1, 12, 12)])
def test_what_takes_no_images_is_refused(shape, tmp_path: Path) -> None:
    file = Writer()
    pixels, out = (file.tensor(name, np.float32, [*shape]) for name in ("pixels", "out"))
    file.step(OPERATOR.LOGISTIC, [pixels], out)
    file.graph.inputs, file.graph.outputs = [pixels], [out]
    with pytest.raises(InputError, match=r"expected one input of .*\(N, H, W, 3\).*convert it so"):
        load_model(f"tflite:{file.write(tmp_path / 'm.tflite')}")


def test_what_gives_no_scores_per_class_is_refused(tmp_path: Path) -> None:
    file = Writer()
    pixels, out = (file.tensor(name, np.float32, [1, 12, 12, 3]) for name in ("pixels", "out"))
    file.step(OPERATOR.LOGISTIC, [pixels], out)
    file.graph.inputs, file.graph.outputs = [pixels], [out]
    model = load_model(f"tflite:{file.write(tmp_path / 'm.tflite')}")
    with pytest.raises(InputError, match=r"expected logits \(1, classes\).*; convert it with"):
        model.logits(IMAGES)


def test_options_it_cannot_honour(tmp_path: Path) -> None:
    name = f"tflite:{write(tmp_path / 'm.tflite')}"
    for options, message in (
        ({"checkpoint": "a.pt"}, "takes no checkpoint: the file holds"),
        ({"precision": "float16"}, "takes no precision: it computes as it was converted"),
        ({"device": "cuda"}, "expected the device cpu, got 'cuda'"),
    ):
        with pytest.raises(InputError, match=message):
            load_model(name, **options)
    with pytest.raises(InputError, match=r"which is no file; check the path"):
        load_model("tflite:nowhere.tflite")
    with pytest.raises(InputError, match=r"KIND:NAME, such as tflite:m\.tflite, got"):
        load_model("m.tflite")


def test_the_command_says_what_it_found(run, tmp_path: Path) -> None:
    path = write(tmp_path / "m.tflite", (1, 32, 32, 3))
    np.savez("set.npz", images=random_images(40, 32, 32), labels=np.arange(40) % 4)
    code, out, err = run(
        *("eval", f"tflite:{path}", "--suite", "cifar10_c", "--images", "set.npz"),
        *("--own-classes", "--only", "fog", "--severities", "1", "--store", "runs"),
    )
    assert code == 0, err
    assert "m.tflite on cpu, float32: resize to 32 (bilinear), mean 0.5 0.5 0.5" in out + err


def test_without_a_terminal_it_can_still_be_loaded(tmp_path: Path) -> None:
    """Where there is no standard error at all, as under some services, silence needs no doing."""
    path = write(tmp_path / "m.tflite")
    code = f"import os; os.close(2); import hardy.models as m; m.load_model('tflite:{path}')"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_damaged_name_is_told_in_a_line(tmp_path: Path) -> None:
    path = write(tmp_path / "m.tflite")
    path.write_bytes(path.read_bytes().replace(b"pixels", b"\xff" * 6))
    with pytest.raises(InputError, match=r"cannot read .*m\.tflite: UnicodeDecodeError: .*convert"):
        load_model(f"tflite:{path}")
