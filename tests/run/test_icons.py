"""Icons by protocols: what is held out stays out of the training part, and scores know it."""

import json
import shutil
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import InputError, MissingResource
from hardy.images.icons50 import collection, icon_parts
from hardy.images.icons50.icon_parts import (
    HeldOut,
    icon_name,
    open_icons,
    read_hold_out,
    split_icons,
)
from hardy.images.icons50.icon_tables import class_names
from hardy.images.image_files import read_image
from hardy.metrics.bootstrap import Resampling, resample_means
from hardy.suites import load
from hardy.train.training_data import Streaming, open_data
from tests.icons import write_icons
from tests.train.small import CPU, narrow

__all__ = ["narrow"]

STYLES = ("acme", "microsoft", "other")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """50 classes of two subtypes in three styles, one of which copies some of another's."""
    root = tmp_path_factory.mktemp("icons") / "Icons-50"
    write_icons(root, STYLES)
    generator = np.random.default_rng(1)
    for kind in ("boat", "moon"):  # drawn alike, but for a few levels
        pixels = np.asarray(Image.open(root / kind / "microsoft_0_duck.png")).astype(int)
        alike = np.clip(pixels + generator.integers(-5, 6, pixels.shape), 0, 255)
        Image.fromarray(alike.astype(np.uint8)).save(root / "tree" / f"acme_1_of_{kind}.png")
    return root


@pytest.mark.parametrize("text", ["style:microsoft", "subtype:duck", "traditional", "paths:_1"])
def test_nothing_held_out_is_trained_on(folder: Path, text: str) -> None:
    source, title = open_icons(folder)
    assert title == "Icons-50"
    held_out = read_hold_out(text)
    training, test, beside = split_icons(source, held_out)
    assert len({*training, *test, *beside}) == len(training) + len(test) + len(beside)
    names = [icon_name(file) for file in source.files]
    for row in training:
        assert names[row].style != "microsoft" or text != "style:microsoft"
        assert names[row].subtype != "duck" or text != "subtype:duck"
    pixels = np.stack([source.read(row) for row in range(len(source))]).astype(int)
    apart = pixels[[*test, *beside]]
    nearest = [np.abs(apart - pixels[row]).mean((1, 2, 3)).min() for row in training]
    assert min(nearest) > collection.NEAR
    hashes = [_perceptual_hash(image) for image in pixels]
    known = {hashes[row] for row in (*test, *beside)}
    assert not known & {hashes[row] for row in training}
    if text == "style:microsoft":
        left_out = {*range(len(source))} - {*training, *test, *beside}
        assert {source.files[row] for row in left_out} == {
            f"tree/acme_1_of_{kind}.png" for kind in ("boat", "moon")
        }


def _perceptual_hash(image: np.ndarray) -> bytes:
    """Which of 4 x 4 parts are lighter than their neighbour: copies have the same one."""
    parts = image.reshape(4, 8, 4, 8, 3).mean((1, 3))
    return np.packbits(parts > np.roll(parts, 1, 1)).tobytes()


def test_versions_of_an_icon_stay_together(folder: Path) -> None:
    assert icon_name("tree/acme_0_oak.png") == icon_name("clean/tree/acme_12_oak")
    source, _ = open_icons(folder)
    held_out = split_icons(source, HeldOut("traditional")).test
    assert 0.05 < len(held_out) / len(source) < 0.15


def test_subtypes_are_whole_names_and_paths_are_not(folder: Path) -> None:
    source, _ = open_icons(folder)
    by_name, by_path = (
        {source.files[row] for row in split_icons(source, HeldOut(kind, ("monkey",))).test}
        for kind in ("subtype", "paths")
    )
    assert by_name == {f"monkey/{style}_0_monkey.png" for style in STYLES}
    assert by_path - by_name == {f"monkey/{style}_0_plain_one.png" for style in STYLES}
    shift = load("icons50_paths").shift
    assert shift is not None
    assert len(shift.words) == 50
    assert read_hold_out("style") == HeldOut("style", ("microsoft",))


def test_what_cannot_be_held_out(folder: Path, tmp_path: Path) -> None:
    source, _ = open_icons(folder)
    with pytest.raises(InputError, match=r'unknown style of these icons "microsft".*microsoft'):
        split_icons(source, read_hold_out("style:microsft"))
    with pytest.raises(InputError, match=r"some images to hold out by subtype:ledger, got no im"):
        split_icons(source, read_hold_out("subtype:ledger"))
    with pytest.raises(InputError, match="got all images"):
        split_icons(source, read_hold_out("paths:png"))
    with pytest.raises(InputError, match="unknown protocol of icons"):
        read_hold_out("styles:apple")
    with pytest.raises(InputError, match="expected no words behind traditional"):
        read_hold_out("traditional:_2")
    with pytest.raises(InputError, match=r"expected icons as class/style_rendition_subtype\.png"):
        icon_name("tree/photo.png")
    part = tmp_path / "part"
    shutil.copytree(folder / "tree", part / "tree")
    with pytest.raises(InputError, match="49 are missing, such as airplane"):
        open_icons(part)
    with pytest.raises(InputError, match="unknown set of icons"):
        open_icons("icons50:lite")


def test_streamed_icons_are_those_that_are_not_held_out(folder: Path) -> None:
    held, streamed = (
        open_data(str(folder), CPU, streaming, hold_out="style:microsoft")
        for streaming in (Streaming(False), Streaming(True))
    )
    assert len(streamed) == len(held) < 200
    assert streamed.held_out == held.held_out == "style:microsoft of Icons-50"
    assert streamed.labels.tolist() == held.labels.tolist()


def test_a_set_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "icons_folder", lambda: tmp_path)
    with pytest.raises(MissingResource, match=r"icons50:light is not here .* --set light"):
        open_icons("icons50:light")
    with pytest.raises(InputError, match="expected what is held out of icons, by `hold_out`"):
        hardy.train("standard", data="icons50", out=tmp_path / "net", epochs=1)


def test_a_net_is_tested_on_what_it_has_not_seen(
    folder: Path, tmp_path: Path, narrow: None
) -> None:
    net, store = tmp_path / "net", tmp_path / "runs"
    trained = hardy.train(
        "standard", data=folder, hold_out="style:microsoft", out=net, net="narrow", epochs=1
    )
    assert len(trained.log) == 1
    run = hardy.evaluate(f"hardy:{net}", suite="icons50_style", files=folder, store=store)
    scores = run.score()
    told = str(scores["accuracy"])
    assert "100 images, icons50_style v1, Icons-50, held out: style:microsoft" in told
    assert "over icons" in scores["accuracy"].resampling
    assert {"accuracy", "clean accuracy"} <= scores.keys()
    for only in ("acme", "acme,microsoft"):
        line = r"training held out 'style:acme.* of Icons-50'.*'style:microsoft of Icons-50'"
        with pytest.raises(InputError, match=line):
            hardy.evaluate(
                f"hardy:{net}",
                suite="icons50_style",
                files=folder,
                store=store,
                only=only.split(","),
            )
    with pytest.raises(InputError, match="without `init` and `labels`"):
        hardy.train("standard", data=folder, hold_out="style:acme", out=net, init=net)
    with pytest.warns(UserWarning, match="nothing says what fake:50 was trained on"):
        hardy.evaluate("fake:50", suite="icons50_subtype", files=folder, store=store, only="duck")
    with pytest.raises(InputError, match="expected `files` alone for icons50_style"):
        hardy.evaluate("fake:50", suite="icons50_style", files=folder, images=folder, store=store)
    with pytest.raises(InputError, match="expected icons50 as `files` for icons50_style"):
        hardy.evaluate("fake:50", suite="icons50_style", store=store)


def make_set(folder: Path, name: str) -> str:
    """The sum of the manifest of a folder that is made a set."""
    files = {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*.png")
    }
    content = json.dumps({"set": name, "files": files}).encode()
    (folder / "manifest.json").write_bytes(content)
    return sha256(content).hexdigest()


def test_a_net_of_one_set_is_not_tested_on_another(
    folder: Path, tmp_path: Path, narrow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = {}
    for name in ("free", "light"):
        shutil.copytree(folder, tmp_path / name)
        sums[name] = make_set(tmp_path / name, name)
    monkeypatch.setattr(collection, "MANIFESTS", sums)
    free, light, net = tmp_path / "free", tmp_path / "light", tmp_path / "net"
    about = {"hold_out": "style:microsoft", "net": "narrow", "epochs": 1}
    hardy.train("standard", data=light, out=net, **about)
    test = partial(hardy.evaluate, f"hardy:{net}", suite="icons50_style", store=tmp_path / "runs")
    line = r"'style:microsoft of Icons-50-R free', got .*'style:microsoft of Icons-50-R light'"
    with pytest.raises(InputError, match=line):
        test(files=free)
    assert "Icons-50-R light, held out: style:microsoft" in str(test(files=light).score())


def test_a_set_in_the_cache_is_split_once_and_checked_each_time(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path / "free")
    monkeypatch.setattr(collection, "MANIFESTS", {"free": make_set(tmp_path / "free", "free")})
    for module in (collection, icon_parts):
        monkeypatch.setattr(module, "icons_folder", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    held_out = read_hold_out("style:microsoft")
    source, parts, title = icon_parts.open_parts("icons50", held_out)
    assert title == "Icons-50-R free"
    assert icon_parts.open_parts("icons50", held_out)[1] is parts
    for one, other in zip(parts, split_icons(source, held_out), strict=True):
        np.testing.assert_array_equal(one, other)
    (tmp_path / "free/tree/other_0_duck.png").write_bytes(b"")
    with pytest.raises(MissingResource, match=r"other_0_duck\.png has been altered"):
        icon_parts.open_parts("icons50", held_out)


def test_copies_of_an_icon_tell_nothing_more() -> None:
    """Each image four times, in one cluster, has the spread of each image once."""
    values = np.random.default_rng(0).random((30, 1))
    once = resample_means(values)
    clusters = np.repeat(np.arange(30), 4)
    often = resample_means(values.repeat(4, axis=0), Resampling(clusters=clusters))
    np.testing.assert_allclose(often, once)
    assert resample_means(values.repeat(4, axis=0)).std() < 0.7 * once.std()


def test_a_sheet_has_a_row_per_class_and_a_column_per_vendor(folder: Path, tmp_path: Path) -> None:
    sheet = hardy.show(folder, size=96)
    assert list(sheet.columns) == sorted(STYLES)
    assert [name for name, _ in sheet.rows] == sorted(class_names())
    pictures = dict(sheet.rows)["tree"]
    duck = np.asarray(Image.open(folder / "tree/microsoft_0_duck.png"))
    np.testing.assert_array_equal(pictures[1][::3, ::3], duck)
    part = tmp_path / "icons"
    shutil.copytree(folder, part)
    for path in (part / "tree").glob("other_*"):
        path.unlink()
    target = hardy.show(part, tmp_path / "sheet.png", size=40)
    assert 50 * 32 < len(read_image(target)) < 50 * 40
    assert (dict(hardy.show(part).rows)["tree"][2] == 255).all()
    with pytest.raises(InputError, match="expected no `html` or `sequence` with icons"):
        hardy.show(folder, tmp_path / "page.html", html=True)
    with pytest.raises(InputError, match="class folders of icons"):
        hardy.show(folder / "tree", tmp_path / "sheet.png")
