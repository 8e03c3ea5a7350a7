"""A build is of one version of its images: each is compared with what it was."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.execute import executor
from hardy.suites import load
from hardy.variants.disk.build import BuildPlan, build_cells
from tests.suites.helpers import built, cells_of, opened, tree, write_photos, write_rows

OTHER = r"holds another build: the pixels of .* are others than before"


def change_rows(path: Path, place: int) -> None:
    arrays = dict(np.load(path))
    arrays["images"][place] ^= 1
    np.savez(path, **arrays)


@pytest.mark.parametrize("format", ["npy", "png"])
def test_a_build_is_not_extended_with_other_images(format: str, tmp_path: Path) -> None:
    rows, out = write_rows(tmp_path, 5), tmp_path / "out"
    built("cifar10_c", rows, out, "contrast", severities=(1,), format=format)
    before = tree(out)
    change_rows(rows, 3)  # not the first
    with pytest.raises(InputError, match=OTHER):
        built("cifar10_c", rows, out, "contrast", severities=(2,), format=format)
    assert {name: data for name, data in tree(out).items() if name in before and "1" in name} == {
        name: data for name, data in before.items() if "1" in name
    }
    change_rows(rows, 3)  # as it was
    built("cifar10_c", rows, out, "contrast", severities=(2,), format=format)


def test_nor_is_it_resumed_with_them(tmp_path: Path) -> None:
    """Also images whose files are all there: the rest would be of another version."""
    photos, out = write_photos(tmp_path / "photos", 4), tmp_path / "out"
    built("imagenet_c", photos, out, "contrast", severities=(1,))
    lines = (out / "manifest.jsonl").read_bytes().splitlines(keepends=True)
    (out / "manifest.jsonl").write_bytes(b"".join(lines[:3]))  # as a kill leaves it
    files = sorted(photos.rglob("*.JPEG"))
    kept = files[2].read_bytes()
    files[2].write_bytes(files[1].read_bytes())
    with pytest.raises(InputError, match=OTHER):
        built("imagenet_c", photos, out, "contrast", severities=(1,))
    files[2].write_bytes(kept)
    built("imagenet_c", photos, out, "contrast", severities=(1,))
    assert (out / "manifest.jsonl").read_bytes() == b"".join(lines)


def test_nothing_to_do_is_said_of_the_same_images_alone(tmp_path: Path) -> None:
    rows, out = write_rows(tmp_path, 5), tmp_path / "out"
    built("cifar10_c", rows, out, "contrast", format="png")
    change_rows(rows, 3)  # not the first
    before = tree(out)
    with pytest.raises(InputError, match=OTHER):
        built("cifar10_c", rows, out, "contrast", format="png")
    assert tree(out) == before


def test_of_an_old_build_it_is_told_that_nothing_is_known(tmp_path: Path) -> None:
    """Hardy 0.1.0 kept no hashes of images: the first is compared, and hashes are kept from now."""
    rows, out, suite = write_rows(tmp_path, 5), tmp_path / "out", load("cifar10_c")
    built("cifar10_c", rows, out, "contrast", severities=(1,), format="png")
    old = [json.loads(line) for line in (out / "manifest.jsonl").read_text().splitlines()]
    for line in old:
        assert len(line.pop("sources")) == 1
    (out / "manifest.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old))

    def extended(severity: int) -> list[BuildPlan]:
        plans: list[BuildPlan] = []
        cells = cells_of(suite, "contrast", severities=(severity,))
        source = opened(rows, suite)
        build_cells(
            suite, source, out, cells, executor=executor(1), format="png", announce=plans.append
        )
        return plans

    (plan,) = extended(2)
    assert "Hardy 0.1.0 began this build, and kept no hashes of its images" in str(plan)
    (plan,) = extended(3)
    assert plan.notes == ()
    change_rows(rows, 3)
    with pytest.raises(InputError, match=OTHER):
        extended(4)


def test_damaged_hashes_are_told(tmp_path: Path) -> None:
    rows, out = write_rows(tmp_path, 5), tmp_path / "out"
    built("cifar10_c", rows, out, "contrast", severities=(1,), format="png")
    text = (out / "manifest.jsonl").read_text()
    for sources in ('["ab"]', "[1]", '"x"', "5"):
        line = text.splitlines()[0].partition('"sources":')[0] + f'"sources":{sources}}}\n'
        (out / "manifest.jsonl").write_text(line)
        with pytest.raises(InputError, match="line 1 is damaged"):
            built("cifar10_c", rows, out, "contrast", severities=(2,), format="png")
