"""`hardy verify` of folders that `hardy corrupt` wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.variants.disk.verify import verify
from hardy.variants.mirror import corrupt_files
from hardy.variants.mirror_manifest import BEGUN, CORRUPTED
from tests.photos import random_images

WORDS = ("corrupt", "photos", "out", "--with", "contrast:1,2")


@pytest.fixture
def run(run, tmp_path: Path):
    """Beside a folder `out` of two photographs under two severities, with annotations."""
    (tmp_path / "photos").mkdir()
    for name, image in zip("ab", random_images(2, 16, 16, seed=0), strict=True):
        Image.fromarray(np.asarray(image)).save(tmp_path / f"photos/{name}.png")
    assert run(*WORDS)[0] == 0
    (tmp_path / "out/instances.json").write_text("{}")
    return run


def test_nothing_to_find_in_a_corrupted_folder(run) -> None:
    assert run("verify", "out") == (0, "4 files checked in out\n", "")
    assert verify("out").fine


def test_what_is_wrong_with_a_corrupted_folder(run) -> None:
    Path("out/contrast/1/a.png").unlink()
    Path("out/contrast/1/b.png").write_bytes(b"other")
    Path("out/contrast/2/c.png").touch()
    code, out, err = run("verify", "out")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "1 is missing:",
        "  contrast/1/a.png",
        "1 is altered:",
        "  contrast/1/b.png",
        "1 does not belong here:",
        "  contrast/2/c.png",
        "3 files checked in out",
        "delete what is altered: the same `hardy corrupt` makes what is missing again",
    ]
    for name in ("1/b.png", "2/c.png"):
        Path("out/contrast", name).unlink()
    assert run(*WORDS)[0] == 0
    assert verify("out").fine


@pytest.mark.parametrize(
    ("extra", "todo"),
    [
        (True, "delete what does not belong here"),
        (False, "the same `hardy corrupt` makes what is missing again"),
    ],
)
def test_what_is_to_do_where_nothing_is_altered(run, extra: bool, todo: str) -> None:
    if extra:
        Path("out/contrast/2/c.png").touch()
    else:
        Path("out/contrast/1/a.png").unlink()
    assert run("verify", "out")[1].splitlines()[-1] == todo


def test_a_corrupted_folder_in_which_a_process_was_killed(run) -> None:
    Path("out", BEGUN).touch()
    Path("out/contrast/2/a.png").unlink()  # whose line is written first
    assert run("verify", "out")[:2] == (
        1,
        "unfinished: `hardy corrupt` was stopped in this folder, or is at work; the same `hardy "
        "corrupt` goes on\n1 is missing:\n  contrast/2/a.png\n3 files checked in out\n"
        "the same `hardy corrupt` makes what is missing again\n",
    )
    assert run(*WORDS)[0] == 0
    assert verify("out").fine


def test_a_corrupted_folder_whose_making_was_interrupted(run) -> None:
    def interrupted(items, *counted):
        yield next(iter(items))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corrupt_files("photos", "half", "contrast:1,2", track=interrupted)
    assert verify("half")[:5] == (2, 0, [], [], [])
    assert verify("half").unfinished
    with pytest.raises(InputError, match="is there already"):  # it does nothing, and ends nothing
        corrupt_files("photos", "half", "contrast:1,2", edition="64")
    assert verify("half").unfinished
    corrupt_files("photos", "half", "contrast:1,2")
    assert verify("half").fine
    assert not Path("half", BEGUN).exists()


def test_long_lists_are_cut(run) -> None:
    for number in range(13):
        Path(f"out/contrast/2/x{number:02d}.png").touch()
    out = run("verify", "out")[1].splitlines()
    assert out[0] == "13 do not belong here:"
    assert out[10:12] == ["  contrast/2/x09.png", "  and 3 more"]
    assert len(verify("out").extra) == 13


def test_a_folder_in_the_place_of_a_corrupted_image(run) -> None:
    Path("out/contrast/1/a.png").unlink()
    Path("out/contrast/1/a.png").mkdir()
    assert verify("out").altered == ["contrast/1/a.png"]


def test_files_outside_of_a_corrupted_folder_are_not_read(run, tmp_path: Path) -> None:
    first = Path("out/contrast/1")
    for image in first.iterdir():
        image.unlink()
    first.rmdir()
    first.symlink_to(tmp_path / "photos")
    with pytest.raises(InputError, match="leads out of out"):
        verify("out")


@pytest.mark.parametrize(
    "name", ["a\\u0000b.png", "\\ud800.png", "../a.png", "/a.png", "x/../a.png"]
)
def test_a_line_that_names_no_file_of_the_folder(run, name: str) -> None:
    with Path("out", CORRUPTED).open("a") as lines:
        lines.write(f'{{"source": "a.png", "output": "{name}", "sha256": "0"}}\n')
    code, out, err = run("verify", "out")
    assert (code, out) == (2, "")
    assert "expected the lines that `hardy corrupt` writes" in err


@pytest.mark.parametrize(
    "name", [400 * "a" + ".png", 4000 * "a/" + "a.png"], ids=["long name", "long path"]
)
def test_a_name_that_no_file_can_have_is_missing(run, name: str) -> None:
    with Path("out", CORRUPTED).open("a") as lines:
        lines.write(f'{{"source": "a.png", "output": "{name}", "sha256": "0"}}\n')
    assert verify("out").missing == [name]
