"""`hardy build` and `hardy verify`, from their arguments to files, messages and exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from hardy.execute import Processes, Serial
from hardy.variants.disk import build
from tests.suites.helpers import tree, write_photos


@pytest.fixture
def run(run, tmp_path: Path):
    """Beside a folder `val` of photographs."""
    write_photos(tmp_path / "val", 4)
    return run


BUILD = ("build", "imagenet_c", "--images", "val", "--out", "c", "--workers", "1")


def test_build_resume_extend_verify(run) -> None:
    code, out, err = run(*BUILD, "--only", "contrast, fog", "--severities", "1,3")
    assert (code, err) == (0, "")
    first, plan, note, last = out.splitlines()
    todo = "to evaluate on them, say --own-classes"
    assert note == f"note: these are not the classes of ImageNet-C; {todo}"
    assert first == "4 images of 2 classes, class folders in val"
    assert plan.startswith(
        "to write: 4 cells of ImageNet-C for 4 images as jpeg, 16 in all, about "
    )
    assert " kB; c has " in plan
    assert plan.endswith("B free")
    assert last == "built 4 images in c"
    assert sum(name.endswith(".JPEG") for name in tree(Path("c"))) == 16

    code, out, _ = run(*BUILD, "--only", "contrast", "--severities", "1")
    assert (code, out) == (0, "built 0 images in c, 4 were there\n")
    code, out, _ = run(*BUILD, "--only", "contrast", "--severities", "2")
    assert code == 0
    assert "to write: 1 cell of ImageNet-C for 4 images as jpeg, 4 in all" in out
    assert run("verify", "c") == (0, "20 files checked in c\n", "")


def test_what_verify_finds(run) -> None:
    run(*BUILD, "--only", "contrast", "--severities", "1,2,3")
    at = Path("c/contrast")
    (at / "1/n00000000/photo_000.JPEG").unlink()
    (at / "2/n00000000/photo_000.JPEG").write_bytes(b"other")
    (at / "3/mine.txt").touch()
    code, out, err = run("verify", "c")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "1 is missing:",
        "  contrast/1/n00000000/photo_000.JPEG",
        "1 is altered:",
        "  contrast/2/n00000000/photo_000.JPEG",
        "1 does not belong here:",
        "  contrast/3/mine.txt",
        "11 files checked in c",
        "delete what is altered: the same `hardy build` makes what is missing again",
    ]
    (at / "2/n00000000/photo_000.JPEG").unlink()
    (at / "3/mine.txt").unlink()
    assert run(*BUILD, "--only", "contrast", "--severities", "1,2,3")[0] == 0
    assert run("verify", "c") == (0, "12 files checked in c\n", "")


def test_bad_images_are_listed_at_the_end(run) -> None:
    Path("val/n00000000/photo_000.JPEG").write_bytes(b"")
    Path("val/n00000001/folder.JPEG").mkdir()
    code, out, err = run(*BUILD, "--only", "contrast", "--severities", "1")
    assert code == 1
    assert out.endswith("built 3 images in c\n")
    title, *reasons = err.splitlines()
    assert title == "2 images could not be used:"
    assert "folder.JPEG: expected an image file, got a folder" in reasons[0]
    assert "photo_000.JPEG: the file is empty" in reasons[1]
    code, out, err = run(*BUILD, "--only", "contrast", "--severities", "1")
    assert (code, out) == (1, "built 0 images in c, 3 were there\n")
    assert len(err.splitlines()) == 3
    assert run("verify", "c") == (
        0,
        "3 files checked in c; 1 image could not be used when it was built\n",
        "",
    )


def test_arrays_labels_seed_and_format(run) -> None:
    rows = np.zeros((3, 32, 32, 3), np.uint8)
    np.save("rows.npy", rows)
    Path("labels.txt").write_text("3\n1\n2\n")
    arguments = ("build", "cifar10_c", "--images", "rows.npy", "--labels", "labels.txt", "--out",
                 "a", "--workers", "1", "--only", "gaussian_noise", "--severities", 1)  # fmt: skip
    assert run(*arguments)[0] == 0
    assert sorted(tree(Path("a"))) == ["gaussian_noise.npy.part", "labels.npy", "manifest.json",
                                       "manifest.jsonl"]  # fmt: skip
    assert run("verify", "a")[1] == "2 array parts checked in a\n"
    np.testing.assert_array_equal(np.load("a/labels.npy"), [3, 1, 2] * 5)
    code, _, err = run(*arguments, "--seed", "2")
    assert code == 2
    assert "seed is 2 and was 0" in err
    assert run(*arguments[:7], "b", *arguments[8:], "--seed", "2", "--format", "png")[0] == 0
    assert len(list(Path("b/gaussian_noise/1").iterdir())) == 3


def test_verify_of_a_build_that_was_killed(run) -> None:
    """One line and what to do, not a list of all that is still to come."""
    run(*BUILD, "--only", "contrast", "--severities", "1,2,3")
    lines = Path("c/manifest.jsonl").read_bytes().splitlines(keepends=True)
    Path("c/manifest.jsonl").write_bytes(lines[0])
    Path("c/.unfinished").mkdir()
    Path("c/.unfinished/lock").touch()
    assert run("verify", "c") == (
        1,
        "unfinished: 1 of 4 images are built under all that was asked for; the same `hardy build` "
        "goes on\n3 files checked in c\n",
        "",
    )
    run(*BUILD, "--only", "contrast", "--severities", "1,2,3")
    assert run("verify", "c")[0] == 0


def test_a_spoilt_array_is_deleted_whole_and_made_again(run) -> None:
    np.save("rows.npy", np.random.default_rng(0).integers(0, 255, (3, 32, 32, 3), np.uint8))
    arguments = ("build", "cifar10_c", "--images", "rows.npy", "--out", "a", "--workers", "1",
                 "--only", "contrast,fog")  # fmt: skip
    assert "10 cells of CIFAR-10-C for 3 images as npy, 30 in all" in run(*arguments)[1]
    data = bytearray(Path("a/fog.npy").read_bytes())
    data[-1] ^= 1
    Path("a/fog.npy").write_bytes(data)
    code, out, _ = run("verify", "a")
    assert code == 1
    assert out.splitlines() == [
        "1 is altered:",
        "  fog.npy, rows 12 to 14",
        "10 array parts checked in a",
        "delete all of fog.npy, since rows are not made one by one: the same `hardy build` "
        "makes what is missing again",
    ]
    Path("a/fog.npy").unlink()
    assert "5 cells of CIFAR-10-C for 3 images as npy, 15 in all" in run(*arguments)[1]
    assert run("verify", "a")[0] == 0


def test_the_announcement_of_what_is_there_in_part(run) -> None:
    words = (*BUILD, "--only", "contrast", "--severities", "1,2")
    run(*words)
    for name in ("1/n00000000/photo_000.JPEG", "1/n00000001/photo_001.JPEG",
                 "2/n00000001/photo_001.JPEG"):  # fmt: skip
        Path("c/contrast", name).unlink()
    said = "2 cells of ImageNet-C for 2 images as jpeg, 3 of 4, as the others are there, about"
    assert said in run(*words)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("imagenet", *BUILD[2:]), 'unknown suite "imagenet"'),
        ((*BUILD[1:], "--only", "fgo"), 'did you mean "fog"'),
        ((*BUILD[1:], "--only", ","), "no name at all"),
        ((*BUILD[1:], "--severities", "1,x"), 'expected --severities such as 1,3-5, got "1,x"'),
        ((*BUILD[1:], "--severities", ""), 'expected --severities such as 1,3-5, got ""'),
        ((*BUILD[1:], "--severities", "3-1"), 'expected --severities such as 1,3-5, got "3-1"'),
        ((*BUILD[1:], "--severities", "1-9999999999"), "expected --severities such as 1,3-5, got"),
        ((*BUILD[1:], "--severities", "4-6"), "expected severities among 1, 2, 3, 4, 5"),
        ((*BUILD[1:], "--severities", "7"), "expected severities among 1, 2, 3, 4, 5"),
        ((*BUILD[1:], "--format", "mp4"), 'among jpeg, png, npy, tar, got "mp4"'),
        ((*BUILD[1:], "--format", "gif"), "gif"),
        ((*BUILD[1:], "--workers", "0"), "--workers"),
        ((*BUILD[1:], "--seed", "-1"), "--seed"),
        ((*BUILD[1:], "--labels", "x.csv"), "x.csv"),
        (("imagenet_c", "--images", "nowhere", "--out", "c"), "there is no file or folder nowhere"),
        (("imagenet_c", "--images", "val", "--out", "val/c"), "lie one within the other"),
        (("imagenet_c", "--images", "val", "--out", "."), "lie one within the other"),
        (("imagenet_c", "--images", "val/n00000000", "--out", "val"), "lie one within the other"),
    ],
)
def test_mistakes_are_one_message_and_code_2(run, arguments: tuple[str, ...], message: str) -> None:
    before = tree(Path())
    code, _, err = run("build", *arguments)
    assert code == 2
    assert message in " ".join(err.split())
    assert tree(Path()) == before


def test_verify_of_something_else(run) -> None:
    code, _, err = run("verify", "val")
    assert code == 2
    wanted = "expected a folder that `hardy build` or `hardy corrupt` wrote, got val without"
    assert f"{wanted} manifest.json or corrupted.jsonl" in err


def test_a_bar_is_shown_to_a_terminal_only(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = run(*BUILD, "--only", "contrast", "--severities", "1")
    assert code == 0
    assert out.endswith("built 4 images in c\n")
    assert "4/4" in err
    assert "/s" in err
    assert "4/4" in run("verify", "c")[2]


def test_an_interrupt(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "build", interrupted)
    code, out, err = run(*BUILD)
    assert (code, out) == (130, "")
    assert err == "stopped; what is finished is kept, and the same command resumes\n"


@pytest.mark.parametrize(("workers", "kind"), [((), None), (("--workers", 1), Serial),
                                               (("--workers", 2), Processes)])  # fmt: skip
def test_workers(run, workers: tuple[object, ...], kind: type | None, monkeypatch) -> None:
    seen = []

    def watch(*_: object, executor: object, **__: object) -> build.BuildOutcome:
        seen.append(executor)
        return build.BuildOutcome(0, 0, [])

    monkeypatch.setattr(build, "build_cells", watch)
    assert run(*BUILD[:-2], *workers)[0] == 0
    assert kind is None or type(seen[0]) is kind


def test_a_part_of_the_images_and_classes_of_their_own(run) -> None:
    words = (*BUILD, "--only", "contrast", "--severities", "1", "--subset", "2", "--own-classes")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert out.startswith("2 of 4 images of 2 classes, class folders in val")
    assert "note" not in out
    assert sum(name.endswith(".JPEG") for name in tree(Path("c"))) == 2
    header = json.loads(Path("c/manifest.json").read_bytes())
    assert all("/" in id for id in header["ids"])
