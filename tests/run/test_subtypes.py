"""Subtypes of broad types: ImageNet-22K, on a small stand-in that has the real names."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import hardy
from hardy.errors import InputError
from hardy.images import subtypes
from hardy.images.labels import imagenet_classes
from hardy.images.source import Fault
from hardy.images.subtypes import seen_part, unseen_part
from hardy.report.figures import choose_figure
from hardy.report.gathered import gather
from hardy.run.selection import open_subject
from hardy.suites import load
from tests.run.subtype_sets import IMAGENET, TYPES, add_folder, add_tar, colour, here
from tests.train.small import narrow

__all__ = ["here", "narrow"]


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
