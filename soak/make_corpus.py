"""Writes the valid files that are damaged: `python -m soak.make_corpus FOLDER ...`, each once; the
repository keeps them, so that a seed means the same inputs wherever it is given."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import sys
import tarfile
from contextlib import chdir
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from PIL import Image

import hardy
from hardy.documents import seal

CORPUS = Path(__file__).parent / "corpus"
PIXELS = np.random.default_rng(0).integers(0, 256, (6, 16, 16, 3), np.uint8)
LABELS = np.arange(6) % 3


def encoded(format: str, image: np.ndarray = PIXELS[0], **options: object) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, format, **options)
    return stream.getvalue()


def pictures(folder: Path) -> None:
    formats = {"png": "PNG", "jpg": "JPEG", "tif": "TIFF", "gif": "GIF", "webp": "WEBP"}
    formats |= {"bmp": "BMP", "ppm": "PPM", "jp2": "JPEG2000", "avif": "AVIF"}
    for suffix, format in formats.items():
        (folder / f"picture.{suffix}").write_bytes(encoded(format))


def image_sets(folder: Path) -> None:
    np.save(folder / "set.npy", PIXELS)
    np.save(folder / "labels.npy", LABELS)
    np.savez(folder / "set.npz", images=PIXELS, labels=LABELS)
    np.savez_compressed(folder / "packed.npz", images=PIXELS, labels=LABELS)
    with tarfile.open(folder / "set.tar", "w") as archive:
        for number, image in enumerate(PIXELS):
            for suffix, data in (("png", encoded("PNG", image)), ("cls", b"%d" % (number % 3))):
                member = tarfile.TarInfo(f"{number:03}.{suffix}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    rows = [{"bytes": encoded("PNG", i), "path": f"{n}.png"} for n, i in enumerate(PIXELS)]
    table = pa.table({"image": rows, "label": LABELS})
    pq.write_table(table, folder / "set.parquet", row_group_size=2)
    (folder / "saved").mkdir()
    (folder / "saved/state.json").write_text("{}")
    with pa.ipc.new_stream(folder / "saved/data-00000-of-00001.arrow", table.schema) as stream:
        stream.write_table(table, max_chunksize=2)
    small = np.random.default_rng(1).integers(0, 256, (3, 3072), np.uint8)
    batch = {b"data": small, b"labels": [0, 1, 2], b"filenames": [b"a", b"b", b"c"]}
    (folder / "test_batch").write_bytes(pickle.dumps(batch, protocol=3))
    binary = b"".join(bytes([n]) + row.tobytes() for n, row in enumerate(small))
    (folder / "test_batch.bin").write_bytes(binary)
    (folder / "named").mkdir()
    for number, image in enumerate(PIXELS[:3]):
        (folder / f"named/{number}.png").write_bytes(encoded("PNG", image))
    (folder / "named/labels.csv").write_text("file,label\n0.png,cat\n1.png,dog\n2.png,cat\n")
    (folder / "tiny/images").mkdir(parents=True)
    lines = []
    for number, wordnet in enumerate(("n01443537", "n01629819", "n01443537")):
        (folder / f"tiny/images/val_{number}.JPEG").write_bytes(encoded("JPEG", PIXELS[number]))
        lines.append(f"val_{number}.JPEG\t{wordnet}\t0\t{number}\t15\t14\n")
    (folder / "tiny/val_annotations.txt").write_text("".join(lines))


def packs(folder: Path) -> None:
    from hardy.progress import untracked

    for number, image in enumerate(PIXELS):
        place = folder / "images" / "abc"[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.png").write_bytes(encoded("PNG", image))
    with chdir(folder):
        for format in ("jpeg", "raw"):
            hardy.pack("images", format, side=12, format=format, track=untracked)
    shutil.rmtree(folder / "images")


def texts(folder: Path) -> None:
    suite = Path(hardy.__file__).parent / "suites/cifar10_c.toml"
    text = suite.read_text(encoding="utf-8").replace('"cifar10_c"', '"mine"')
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    (folder / "models.toml").write_text(
        '[[model]]\nmodel = "fake:10"\nname = "a"\nmean = [0.5, 0.5, 0.5]\nsize = 32\n'
        '[[model]]\nmodel = "fake:10"\ncheckpoint = "x.pt"\n'
    )
    (folder / "matrix.csv").write_text("x,fog,snow,frost\nfog,1,.2,.3\nsnow,.2,1,0\nfrost,.3,0,1\n")
    (folder / "drops.csv").write_text("model,suite,clean,accuracy\na,s,.9,.5\nb,s,.8,.6\n")
    (folder / "models.txt").write_text("first = fake:10\n# a comment\nfake:10:3\n")
    (folder / "prompts.txt").write_text("a photo of a {}.\na drawing of the {}, in ink\n")
    (folder / "points.csv").write_text(
        "model,suite,clean,accuracy\na,imagenet_r,.7,.3\nb,imagenet_r,.8,.4\nc,imagenet_r,.6,.2\n"
    )
    (folder / "README.md").write_text(
        "---\nlicense: mit  # of the weights\ntags: [a, b]\n"
        "model-index:\n- name: waves\n  results:\n"
        "  - task: {type: image-classification}\n    dataset: {type: mine, name: 'Mine'}\n"
        "    metrics:\n    - {type: accuracy, value: 0.10}\n---\n# Waves\n"
    )
    cells = [
        f"{one},{s},{0.4 - s / 20:.2f}\n" for one in hardy.corruptions()[:15] for s in range(1, 6)
    ]
    (folder / "performances.csv").write_text(
        f"corruption,severity,AP\nclean,0,0.42\n{''.join(cells)}"
    )
    lines = [{"epoch": n, "loss": 1.5, "lr": 0.1, "seconds": 2, "images_per_second": 3.5}
             for n in (1, 2, 3)]  # fmt: skip
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def store(folder: Path) -> None:
    """Runs with sums, as Hardy writes them now."""
    from hardy.progress import untracked

    def model(images: np.ndarray) -> np.ndarray:
        means = images.mean(axis=(1, 2, 3), dtype=np.float64)[:, None]
        return np.sin(means * np.arange(1, 11)).astype(np.float32)

    images = np.random.default_rng(2).integers(0, 256, (3, 32, 32, 3), np.uint8)
    with chdir(folder):  # records name no path of this machine
        np.savez("three.npz", images=images, labels=np.arange(3))
        asked = {"images": "three.npz", "only": ["contrast"], "track": untracked}
        hardy.evaluate(model, suite="cifar10_c", name="waves", store="runs", **asked)
        hardy.build("cifar10_c", out="built", workers=1, **asked)
        hardy.score("runs").write("result.json")
        os.rename(next(Path("runs").iterdir()), "run")
        for left in ("three.npz", "run/lock"):
            os.remove(left)
        os.rmdir("runs")


def weights(folder: Path) -> None:
    import onnx
    import torch
    from onnx import helper

    from hardy.models.weight_files import packed
    from tests.models.tflite_files import normalisation, write

    write(folder / "net.tflite", softmax=True, metadata=normalisation([127.5], [127.5]))
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    (folder / "net.safetensors").write_bytes(packed(net.state_dict(), {}, folder))
    torch.save(net.state_dict(), folder / "net.pt")
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3, 8, 8])
    made = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 192])
    graph = helper.make_graph([helper.make_node("Flatten", ["x"], ["y"])], "g", [given], [made])
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    helper.set_model_props(model, {"mean": "0.5 0.5 0.5", "std": "0.2 0.2 0.2", "size": "8"})
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    trained = Path(__file__).parents[1] / "tests/fixtures/v0_1/trained"
    record = json.loads((trained / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(seal(record), indent=1))


def video(folder: Path) -> None:
    from hardy.variants.disk.encode import video

    frames = np.random.default_rng(3).integers(0, 256, (4, 32, 32, 3), np.uint8)
    (folder / "clip.mp4").write_bytes(video(frames, "x264:crf=40,preset=ultrafast"))


def numbered(folder: Path) -> None:
    """Labels by number, with the three kinds of maps to classes."""
    from scipy.io import savemat

    wordnet = ("n01440764", "n01443537")
    for how in ("csv", "json", "mat"):
        (folder / how / "images").mkdir(parents=True)
        for number in (1, 2, 3):
            name = f"images/ILSVRC2012_val_{number:08}.png"
            (folder / how / name).write_bytes(encoded("PNG", PIXELS[number]))
        (folder / how / "numbers.txt").write_text("1\n2\n1\n")
    (folder / "csv/real.json").write_text("[[0, 5], [], [1]]")
    (folder / "csv/label_map.csv").write_text(f"1,{wordnet[0]}\n2,{wordnet[1]}\n")
    (folder / "json/label_map.json").write_text(json.dumps(dict(zip("12", wordnet, strict=True))))
    rows = np.array(list(enumerate(wordnet, 1)), [("ILSVRC2012_ID", "O"), ("WNID", "O")])
    savemat(folder / "mat/meta.mat", {"synsets": rows})


def sampled(folder: Path) -> None:
    """A run of which a sample was predicted."""
    from hardy.progress import untracked

    images = np.random.default_rng(4).integers(0, 256, (200, 8, 8, 3), np.uint8)
    large = images.repeat(4, axis=1).repeat(4, axis=2)
    labels = np.arange(200) % 10
    with chdir(folder):
        asked = {"images": large, "labels": labels, "only": ["contrast"], "until": 9}
        hardy.evaluate("fake:10", suite="cifar10_c", store="runs", track=untracked, **asked)
        (run,) = Path("runs").iterdir()
        for one in run.iterdir():
            one.rename(one.name)
        shutil.rmtree("runs")
        os.remove("lock")


def overlap(folder: Path) -> None:
    """A finished experiment of tiny nets."""
    from hardy.progress import untracked
    from soak.surroundings import make_tiny

    make_tiny()
    pixels = np.random.default_rng(5).integers(0, 256, (8, 32, 32, 3), np.uint8)
    with chdir(folder):
        np.savez("images.npz", images=pixels, labels=np.arange(8) % 2)
        hardy.overlap(
            "out",
            suite="cifar10_c",
            data="images.npz",
            images="images.npz",
            only=["contrast", "brightness"],
            net="wrn_40_2",
            epochs=1,
            batch=4,
            device="cpu",
            track=untracked,
        )
        kept = ("experiment.json", "features.npz", "models", "predictions")
        for one in Path("out").iterdir():
            if one.name in kept:
                one.rename(one.name)
        shutil.rmtree("out")
        for left in (Path("images.npz"), *Path().rglob("lock")):
            left.unlink()


def mirror(folder: Path) -> None:
    from hardy.progress import untracked

    (folder / "in").mkdir()
    Image.fromarray(PIXELS[0]).save(folder / "in/0.png")
    with chdir(folder):
        hardy.corrupt_files("in", "out", ["contrast:1,3"], edition="cifar", track=untracked)


def models(folder: Path) -> None:
    import zipfile

    import torch

    from hardy.models.weight_files import packed
    from tests.vision import import_torchvision

    import_torchvision()
    from tests.models import clip_folders, hf_folders

    weight = np.eye(3, 5, dtype=np.float32)
    parts = {"weight": weight, "bias": np.zeros(3, np.float32)}
    texts = {"backbone": np.array("fake:5"), "classes": np.array(["a", "b", "c"])}
    np.savez(folder / "linear.npz", **parts, **texts)
    tensors = {name: torch.from_numpy(array) for name, array in parts.items()}
    notes = {"backbone": "fake:5", "classes": json.dumps(["a", "b", "c"]), "fingerprint": "x"}
    (folder / "linear.safetensors").write_bytes(packed(tensors, notes, folder))
    np.savez(folder / "texts.npz", key=np.array("texts"), features=np.eye(3, 8, dtype=np.float32))
    dense = {"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", "units": 5}}
    config = {"module": "keras", "class_name": "Sequential", "config": {"layers": [dense]}}
    with zipfile.ZipFile(folder / "net.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 8)
    hf_folders.save(folder / "hf", size=32, **hf_folders.HALF)
    clip_folders.save(folder / "clip")


def main() -> None:
    makers = (
        *(pictures, image_sets, texts, store, weights, video),
        *(numbered, sampled, overlap, mirror, models, packs),
    )
    for make in makers:
        if make.__name__ not in sys.argv[1:]:
            continue
        folder = CORPUS / make.__name__
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)


if __name__ == "__main__":
    main()
