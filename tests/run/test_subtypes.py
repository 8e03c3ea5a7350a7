"""Subtypes of broad types: ImageNet-22K, CIFAR-100's superclasses and groceries, on small stand-ins
that have the real names."""

from __future__ import annotations

import io
import json
import pickle
import re
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import hardy
from hardy.errors import InputError, MissingResource
from hardy.images import subtypes
from hardy.images.labels import cifar_classes, imagenet_classes
from hardy.images.source import Fault
from hardy.images.subtypes import seen_part, unseen_part
from hardy.images.training_parts import without_held_out
from hardy.report.figures import choose_figure
from hardy.report.gathered import gather
from hardy.run.selection import open_subject
from hardy.suites import load
from hardy.train import probing
from tests.train.small import narrow

__all__ = ["narrow"]

IMAGENET, CIFAR, GROCERIES = "imagenet_subtypes", "cifar100_superclass", "groceries_superclass"
TYPES = load(IMAGENET).shift.types
NET = """
import torch

class Colour(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(3)
        self.drop = torch.nn.Dropout(0.5)
        self.head = torch.nn.Linear(3, 1000)

    def forward(self, pixels):
        return self.head(self.drop(self.norm(pixels)).mean((2, 3)))

def make():
    torch.manual_seed(0)
    return Colour()
"""


def colour(number: int) -> tuple[int, int, int]:
    """Types differ in colour, and so a net can tell them apart that sees nothing else."""
    return (number % 5 * 50 + 20, number // 5 * 50 + 20, 100)


def photograph(number: int, shade: int = 0) -> bytes:
    stream = io.BytesIO()
    pixels = np.full((16, 20, 3), np.array(colour(number)) + shade, np.uint8)
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def add_folder(top: Path, wnid: str, number: int, count: int = 1, name: str = "") -> None:
    (top / wnid).mkdir(parents=True)
    for image in range(count):
        path = top / wnid / f"{name or wnid}_{number}_{image}.JPEG"
        path.write_bytes(photograph(number, image))


def add_tar(top: Path, wnid: str, number: int) -> None:
    with tarfile.open(top / f"{wnid}.tar", "w") as archive:
        info, content = tarfile.TarInfo(f"{wnid}_0.JPEG"), photograph(number)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))


@pytest.fixture(scope="module")
def imagenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All 542 seen synsets; three of each type, for training and validation; and the first six
    unseen ones, every other one a tar."""
    top = tmp_path_factory.mktemp("imagenet")
    for number, one in enumerate(TYPES.values()):
        for wnid in one.seen:
            add_folder(top / "train", wnid, number)
        for wnid in one.seen[:3]:
            add_folder(top / "few", wnid, number)
            add_folder(top / "val", wnid, number, name="ILSVRC2012_val")
        for place, wnid in enumerate(one.unseen[:6]):
            (top / "22k").mkdir(exist_ok=True)
            add_tar(top / "22k", wnid, number) if place % 2 else add_folder(
                top / "22k", wnid, number, 2
            )
    for wnid in ("n00000001", "n00000002"):  # of no type: never opened
        (top / "22k" / wnid).mkdir()
        (top / "22k" / wnid / "other.JPEG").write_bytes(b"no image")
    return top


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(probing, "DECAYS", (1e-6, 1e-4))
    Path("net.py").write_text(NET)
    return tmp_path


def test_a_probe_on_seen_subtypes_is_tested_on_unseen_ones(imagenet: Path, here: Path) -> None:
    found = hardy.probe(
        "torch:net.py:make", suite=IMAGENET, data=imagenet / "few", out="probe.safetensors"
    )
    assert found.images + found.validation_images == 75
    assert found.accuracy is not None
    assert found.accuracy > 0.9
    run = hardy.evaluate(
        "linear:probe.safetensors",
        suite=IMAGENET,
        files=imagenet / "22k",
        images=imagenet / "val",
        trust=True,
    )
    scores = run.score()
    assert scores["accuracy"].value > 90
    assert scores["clean accuracy"].value > 90
    assert scores["accuracy"].circumstances.images == 225
    assert scores["clean accuracy"].circumstances.images == 75
    told = str(scores["accuracy"])
    assert "official files, 150 of 5,017 unseen subtypes" in told
    assert "over subtypes" in scores["accuracy"].resampling
    assert {f"{kind} {name}" for kind in ("accuracy", "clean accuracy") for name in TYPES} <= {
        *scores
    }
    assert scores["accuracy bear"].circumstances.images == 9
    assert scores["clean accuracy bear"].circumstances.images == 3
    assert "over images" in scores["clean accuracy bear"].resampling  # three subtypes are too few
    assert "accuracy as in the original" not in scores
    text = str(hardy.score("runs"))
    assert "imagenet_subtypes: accuracy, type by type" in text
    assert re.search(r"vehicle +100.0", text)
    assert "not checked" not in text
    read = json.loads(hardy.score("runs").as_json())
    assert "accuracy bear" in json.dumps(read)
    report = gather(Path("runs"))
    figure = choose_figure(report, "subtypes")
    (series,) = figure.panels[0].series
    assert series.x == (scores["clean accuracy"].value,)
    assert series.y == (scores["accuracy"].value,)
    assert "on unseen subtypes, 0.0 points less than on seen ones" in figure.sees
    with pytest.raises(InputError, match="that the plot scatter can be made of"):
        choose_figure(report, "scatter")


def test_the_same_images_out_of_folders_and_tars(imagenet: Path, tmp_path: Path) -> None:
    _, unseen = unseen_part(imagenet / "22k", load(IMAGENET), None)
    assert len(unseen) == 25 * (3 * 2 + 3)
    assert unseen.classes == tuple(TYPES)
    for row in (0, 2, 100):
        pixels = unseen.read(row)
        near = np.abs(pixels[0, 0].astype(int) - colour(unseen.right[row][0])).max()
        assert near <= 2
    first = next(iter(TYPES.values())).unseen
    assert [*dict.fromkeys(map(subtypes.subtype_of, map(str, unseen.ids)))][:6] == [*first[:6]]


def test_nothing_unseen_is_trained_on(imagenet: Path) -> None:
    held_back = {wnid for one in TYPES.values() for wnid in one.unseen}
    for where, hold_out in ((imagenet / "train", IMAGENET), (imagenet / "train", "superclass")):
        part, name = seen_part(where, hold_out)
        assert name == IMAGENET
        assert len(part) == 542
        assert not {subtypes.subtype_of(str(id)) for id in part.ids} & held_back
    both = imagenet / "both"
    shutil.copytree(imagenet / "train", both)
    shutil.copytree(imagenet / "22k", both, dirs_exist_ok=True)
    part, _ = seen_part(both, IMAGENET)
    assert len(part) == 542


def test_a_probe_of_other_training_is_refused(imagenet: Path, here: Path) -> None:
    hardy.probe(
        "torch:net.py:make",
        data=imagenet / "few",
        recipe="resize64_crop64@1",
        out="plain.safetensors",
    )
    with pytest.raises(InputError, match=r"25|broad types"):
        hardy.evaluate(
            "linear:plain.safetensors", suite=IMAGENET, files=imagenet / "22k", trust=True
        )
    coarse = here / "coarse"
    for number, name in enumerate(TYPES):
        add_folder(coarse, name, number, 3)
    hardy.probe(
        "torch:net.py:make",
        data=coarse,
        recipe="resize64_crop64@1",
        out="coarse.safetensors",
    )
    with pytest.raises(InputError, match=r"held out 'imagenet_subtypes'.*held out 'nothing'"):
        hardy.evaluate(
            "linear:coarse.safetensors", suite=IMAGENET, files=imagenet / "22k", trust=True
        )
    with pytest.warns(UserWarning, match="nothing says what fake:25 was trained on"):
        hardy.evaluate("fake:25", suite=IMAGENET, files=imagenet / "22k", only="counted")


def test_broken_images_are_listed_and_not_counted_as_wrong(imagenet: Path, here: Path) -> None:
    part = here / "22k"
    shutil.copytree(imagenet / "22k", part)
    broken = sorted(part.glob("*/*_0.JPEG"))[:9]
    for path in broken:
        path.write_bytes(path.read_bytes()[:40])
    with pytest.warns(UserWarning, match="nothing says"):
        run = hardy.evaluate("fake:25", suite=IMAGENET, files=part)
    listed = " ".join(run.faults)
    assert len(run.faults) == len(broken)
    assert all(path.name in listed for path in broken)
    scores = run.score()
    plain, original = scores["accuracy"], scores["accuracy as in the original"]
    assert plain.circumstances.images == 225 - 9
    assert original.value == pytest.approx(plain.value * 216 / 225)
    assert original.interval.high == pytest.approx(plain.interval.high * 216 / 225)

    train = here / "train"
    shutil.copytree(imagenet / "few", train)
    spoilt = sorted(train.glob("*/*.JPEG"))[0]
    spoilt.write_bytes(b"\xff\xd8 cut off")
    for fit in ("logistic", "sgd"):
        found = hardy.probe(
            "torch:net.py:make", suite=IMAGENET, data=train, out="p.safetensors", fit=fit
        )
        assert found.images + found.validation_images == 74
        assert len(found.unreadable) == 1
        assert spoilt.name in found.unreadable[0]


def test_archives_cut_off_and_synsets_that_miss(imagenet: Path, tmp_path: Path) -> None:
    part = tmp_path / "22k"
    shutil.copytree(imagenet / "22k", part)
    archive = part / f"{TYPES['bird'].unseen[1]}.tar"
    archive.write_bytes(archive.read_bytes()[:530])
    suite, faults = load(IMAGENET), list[Fault]()
    _, found = unseen_part(part, suite, faults)
    assert len(found) == 224
    assert any(f"cannot read {archive} to its end" in fault.reason for fault in faults)
    with pytest.raises(InputError, match="to its end"):
        unseen_part(part, suite, None)
    for wnid in TYPES["bear"].unseen:
        shutil.rmtree(part / wnid, ignore_errors=True)
        (part / f"{wnid}.tar").unlink(missing_ok=True)
    with pytest.raises(InputError, match="got none of bear, such as n01322983"):
        unseen_part(part, suite, [])
    with pytest.raises(InputError, match=r"such as n01627424 or n01627424\.tar, got none of 5,017"):
        unseen_part(imagenet / "val", suite, None)
    with pytest.raises(InputError, match=r"expected a folder .* got .*missing"):
        unseen_part(tmp_path / "missing", suite, None)
    with pytest.raises(InputError, match="expected imagenet22k as `files` for imagenet_subtypes"):
        open_subject(suite, images=None)
    with pytest.raises(InputError, match="expected no `own_classes`"):
        open_subject(suite, images=None, files=part, own_classes=True)


def test_seen_images_may_have_labels_as_numbers(imagenet: Path, tmp_path: Path) -> None:
    flat = tmp_path / "val"
    flat.mkdir()
    numbers = {wnid: place for place, wnid in enumerate(imagenet_classes())}
    lines = ["file,label"]
    for path in (imagenet / "val").glob("*/*"):
        name = f"{path.parent.name}.JPEG"
        (flat / name).write_bytes(path.read_bytes())
        lines.append(f"{name},{numbers[path.parent.name]}")
    (flat / "labels.csv").write_text("\n".join(lines))
    subject = open_subject(load(IMAGENET), images=flat, files=imagenet / "22k")
    assert len(subject) == 225 + 75


def test_probes_of_the_original_recipe(imagenet: Path, here: Path) -> None:
    """One epoch; in training mode the statistics of batch norm drift, and the file keeps them."""
    made = {}
    for fit in ("sgd", "original"):
        file = f"{fit}.safetensors"
        found = hardy.probe(
            "torch:net.py:make",
            suite=IMAGENET,
            data=imagenet / "few",
            out=file,
            fit=fit,
            validation=imagenet / "val",
        )
        assert (found.images, found.validation_images) == (75, 75)
        assert found.decay == 5e-4
        model = hardy.models.load_model(f"linear:{file}", trust=True)
        made[fit] = dict(model.module.module.named_buffers())["norm.running_mean"]
        again = hardy.probe(
            "torch:net.py:make", suite=IMAGENET, data=imagenet / "few", out="b.safetensors", fit=fit
        )
        assert again.accuracy is None
        assert Path("b.safetensors").read_bytes() == Path(file).read_bytes()
    assert torch.equal(made["sgd"], torch.zeros(3))
    assert not torch.equal(made["original"], torch.zeros(3))
    with pytest.raises(InputError, match="expected a backbone of torch's for the fit original"):
        hardy.probe(
            "fake:10", suite=IMAGENET, data=imagenet / "few", out="c.safetensors", fit="original"
        )
    with pytest.raises(InputError, match='unknown fit "adam"'):
        hardy.probe("fake:10", data=imagenet / "few", out="c.safetensors", fit="adam")
    with pytest.raises(InputError, match="neither `labels` nor `recipe` beside the `suite`"):
        hardy.probe("fake:10", suite=IMAGENET, data=imagenet, out="c.safetensors", recipe="none@1")
    with pytest.raises(InputError, match="unknown suite that holds something out"):
        hardy.probe("fake:10", suite="imagenet_c", data=imagenet, out="c.safetensors")


def write_cifar(folder: Path, form: str) -> Path:
    """CIFAR-100 with two images of each fine class in each part; a superclass has its colour."""
    folder.mkdir(parents=True)
    fine = np.repeat(np.arange(100), 2)
    of_fine = {
        name: number
        for number, one in enumerate(load(CIFAR).shift.types.values())
        for part in one
        for name in part
    }
    coarse = np.array([of_fine[cifar_classes(100)[number]] for number in fine])
    noise = np.random.default_rng(0).integers(0, 20, (len(fine), 3, 32, 32))
    pixels = (noise + np.array([colour(number) for number in coarse])[:, :, None, None]).astype(
        np.uint8
    )
    for part in ("train", "test"):
        if form == "binary":
            rows = np.column_stack([coarse, fine, pixels.reshape(len(fine), -1)]).astype(np.uint8)
            (folder / f"{part}.bin").write_bytes(rows.tobytes())
        else:
            batch = {
                b"data": pixels.reshape(len(fine), -1),
                b"fine_labels": fine.tolist(),
                b"coarse_labels": coarse.tolist(),
            }
            (folder / part).write_bytes(pickle.dumps(batch, 4))
    if form == "binary":
        (folder / "fine_label_names.txt").write_text("\n".join(cifar_classes(100)))
    else:
        names = [name.encode() for name in cifar_classes(100)]
        (folder / "meta").write_bytes(pickle.dumps({b"fine_label_names": names}, 4))
    return folder


@pytest.mark.parametrize("form", ["python", "binary"])
def test_superclasses_of_cifar_100(form: str, tmp_path: Path, narrow: None) -> None:
    folder, net = write_cifar(tmp_path / f"cifar-100-{form}", form), tmp_path / "net"
    hardy.train(
        "standard",
        data=folder,
        hold_out="superclass",
        out=net,
        net="narrow",
        epochs=2,
        mixup=1.0,
        mixup_each=True,
    )
    record = json.loads((net / "run.json").read_text())["data"]
    assert record["held_out"] == CIFAR
    assert record["classes"] == 20
    assert record["images"].startswith("160 images of 20 classes, seen subtypes")
    run = hardy.evaluate(f"hardy:{net}", suite=CIFAR, files=folder, store=tmp_path / "runs")
    scores = run.score()
    counted, beside = scores["accuracy"], scores["clean accuracy"]
    assert (counted.circumstances.images, beside.circumstances.images) == (40, 160)
    assert counted.circumstances.total == 2000
    assert "over subtypes" in counted.resampling
    assert "accuracy trees" in scores
    plain = tmp_path / "plain"
    hardy.train("standard", data=f"{folder}:train", out=plain, net="narrow", epochs=1)
    with pytest.raises(InputError, match="trained on 100 classes, and these images have 20"):
        hardy.evaluate(f"hardy:{plain}", suite=CIFAR, files=folder, store=tmp_path / "runs")
    with pytest.raises(InputError, match="expected `files` alone for cifar100_superclass"):
        open_subject(load(CIFAR), images=folder, files=folder)


def test_labels_without_names_are_numbers(tmp_path: Path) -> None:
    folder = write_cifar(tmp_path / "cifar", "binary")
    (folder / "fine_label_names.txt").unlink()
    part, name = without_held_out(folder, CIFAR)
    assert (len(part), name) == (160, CIFAR)
    with pytest.raises(InputError, match=r"expected the classes of a suite of broad types.*cifar"):
        without_held_out(folder, "superclass")
    np.savez(tmp_path / "more.npz", images=np.zeros((3, 8, 8, 3), np.uint8), labels=[0, 1, 100])
    with pytest.raises(InputError, match=r"expected labels below 100, .* got 100"):
        without_held_out(tmp_path / "more.npz", CIFAR)
    with pytest.raises(InputError, match=r'unknown protocol "superclas".*superclass'):
        without_held_out(folder, "superclas")


def test_groceries_run_the_same_protocol(
    here: Path, narrow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subtypes, "grocery_folder", lambda: here / "cache")
    with pytest.raises(MissingResource, match="hardy fetch groceries"):
        without_held_out("groceries", "superclass")
    for number, one in enumerate(load(GROCERIES).shift.types.values()):
        for kind in (*one.seen, *one.unseen):
            for part in ("train", "test"):
                add_folder(here / "cache/fine" / part, kind, number, 4, part)
    found = hardy.probe("torch:net.py:make", suite=GROCERIES, data="groceries", out="g.safetensors")
    assert found.images + found.validation_images == 11 * 4
    model = "linear:g.safetensors"
    scores = hardy.evaluate(model, suite=GROCERIES, files="groceries", trust=True).score()
    assert scores["accuracy"].circumstances.images == 3 * 4
    assert scores["clean accuracy"].circumstances.images == 11 * 4
    assert "over images" in scores["accuracy"].resampling  # three subtypes tell too little
    assert "accuracy Orange" not in scores  # it has one kind, which is seen
    assert "top-5 accuracy" not in scores
    hardy.train(
        "standard",
        data="groceries",
        hold_out="superclass",
        recipe="resize64_exact@1",
        out="net",
        net="narrow",
        epochs=1,
    )
    shutil.rmtree("cache/fine/test/Kaiser")
    with pytest.raises(InputError, match=r"14 classes .* 1 are missing, such as Kaiser"):
        hardy.evaluate(model, suite=GROCERIES, files="groceries", trust=True)
