"""The commands on image files, from their arguments to files, messages and exit codes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

import hardy
from hardy import cli
from hardy.cli.options import NamingCommand, PlainGroup
from hardy.engine import textures
from hardy.errors import install_command
from hardy.variants.mirror_manifest import BEGUN

RGB = np.random.default_rng(4).integers(0, 256, (40, 32, 3), dtype=np.uint8)


COMMANDS = typer.main.get_command(cli.app).commands


def save(path: str, pixels: np.ndarray = RGB) -> np.ndarray:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return pixels


def pixels(path: str) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def tree(folder: str) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in Path(folder).rglob("*") if p.is_file())


def test_version(run) -> None:
    assert run("--version") == (0, f"hardy {hardy.__version__}\n", "")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(run, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    assert "--help" in out
    kinds = r"<(?!table)[a-z]+( range)?>"  # a choice is shown with its words
    assert not re.findall(kinds, out), "what is typed has a name"
    assert "…" not in out, "nothing of it is cut"


def test_help_is_no_markup() -> None:
    """What stands in brackets is shown, of commands, options and the program itself."""
    app = typer.Typer(cls=PlainGroup)

    @app.command(cls=NamingCommand, help="First hardy[one].\n\nThen hardy[two] and [/bold].")
    def act(count: Annotated[int, typer.Option(help="By hardy[three].")] = 0) -> None: ...

    app.command("other")(lambda: None)
    shown = CliRunner().invoke(app, ["act", "--help"]).stdout
    for text in ("First hardy[one].", "Then hardy[two] and [/bold].", "By hardy[three]."):
        assert text in shown
    assert "First hardy[one]." in CliRunner().invoke(app, ["--help"]).stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_extras_as_pip_does(run, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    described = (COMMANDS[command], *COMMANDS[command].params)
    written = " ".join(getattr(one, "help", None) or "" for one in described)
    shown = run(command, "--help")[1]
    assert [name for name in re.findall(r"hardy\[\w+\]", written) if name not in shown] == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("hardy corr", ["corrupt", "correlate"]),
        ("hardy corrupt a b --with speck", ["speckle_noise"]),
        ("hardy eval fake:2 --suite tiny", ["tiny_imagenet_c", "tiny_imagenet_p"]),
        ("hardy describe cifar10_p", ["cifar10_p"]),
        ("hardy train patch", ["patch_gaussian", "patch_uniform"]),
        ("hardy ls met", ["methods", "metrics"]),
    ],
)
def test_the_shell_completes(typed: str, offered: list[str]) -> None:
    asked = {"_HARDY_COMPLETE": "complete_bash", "COMP_WORDS": typed}
    asked["COMP_CWORD"] = str(len(typed.split()) - 1)
    done = CliRunner().invoke(cli.app, [], env=asked, prog_name="hardy")
    assert sorted(done.stdout.split()) == sorted(offered)


def test_the_shell_gets_its_script(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    code, out, _ = run("--show-completion")
    assert code == 0
    assert "_HARDY_COMPLETE=complete_bash" in out


def test_corrupt_a_file(run) -> None:
    save("in/cat.png")
    assert run("corrupt", "in/cat.png", "new/out.png", "--with", "gaussian_noise:3")[0] == 0
    expected = hardy.corrupt(RGB, "gaussian_noise", 3, ids="cat")
    np.testing.assert_array_equal(pixels("new/out.png"), expected)

    arguments = ("--with", "gaussian_noise:3", "--seed", 7, "--edition", "224")
    code, out, _ = run("corrupt", "in/cat.png", "new", *arguments)
    assert (code, out) == (0, f"wrote {Path('new/cat.png')}\n")
    expected = hardy.corrupt(RGB, "gaussian_noise", 3, ids="cat", seed=7, edition="224")
    np.testing.assert_array_equal(pixels("new/cat.png"), expected)


def test_corrupt_a_folder(run) -> None:
    save("in/cat.png")
    save("in/a/b/dog.bmp", RGB[::-1].copy())
    Path("in/notes.txt").touch()
    code, out, err = run("corrupt", "in", "out", "--with", "gaussian_noise:2")
    assert (code, out, err) == (0, "wrote 2 images to out, left 1 other file alone\n", "")
    assert tree("out") == ["a/b/dog.png", "cat.png", "corrupted.jsonl"]
    dog = hardy.corrupt(RGB[::-1], "gaussian_noise", 2, ids="a/b/dog")
    np.testing.assert_array_equal(pixels("out/a/b/dog.png"), dog)
    cat = hardy.corrupt(RGB, "gaussian_noise", 2, ids="cat")
    np.testing.assert_array_equal(pixels("out/cat.png"), cat)
    code, out, _ = run("corrupt", "in", "out", "--with", "gaussian_noise:2")
    assert (code, out[:45]) == (0, "wrote 0 images to out, kept 2 that were there")
    assert tree("out") == ["a/b/dog.png", "cat.png", "corrupted.jsonl"]


@pytest.mark.parametrize(
    ("words", "function"),
    [("corrupt in out --with fog:1", "corrupt_files"), ("demo", "demo")],
)
def test_an_interrupt(words: str, function: str, run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hardy, function, interrupted, raising=False)
    code, out, err = run(*words.split())
    assert (code, out) == (130, "")
    assert err == "stopped; what is finished is kept, and the same command resumes\n"


def test_broken_files_are_listed_and_the_others_done(run) -> None:
    save("in/good.png")
    save("in/a/cut.png")
    Path("in/a/cut.png").write_bytes(Path("in/a/cut.png").read_bytes()[:500])
    Path("in/empty.jpg").touch()
    Path("in/[red]text.jpg").write_text("no image")
    save("in/small.png", RGB[:7])
    code, out, err = run("corrupt", "in", "out", "--with", "brightness:1")
    assert (code, out) == (1, "wrote 1 images to out\n")
    assert tree("out") == ["corrupted.jsonl", "good.png"]
    assert "4 files could not be used:" in err
    for path, reason in (
        ("in/[red]text.jpg", "not an image of a known format"),
        ("in/a/cut.png", "truncated"),
        ("in/empty.jpg", "the file is empty"),
        ("in/small.png", "at least 8 pixels per side, got width 32, height 7"),
    ):
        assert any(path in line and reason in line for line in err.splitlines()), path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("in/a.png", "o.png", "--with", "fgo:3"), 'unknown corruption "fgo"; did you mean "fog"'),
        (("in/a.png", "o.png", "--with", "fog:"), 'NAME:SEVERITY such as fog:3, .* got "fog:"'),
        (("in/a.png", "o.png", "--with", "fog:2.5"), 'such as fog:3, .* got "fog:2.5"'),
        (("in/a.png", "o.png", "--with", "fog:3-1"), 'or all:3, got "fog:3-1"'),
        (("in/a.png", "o.png", "--with", "fog:1,,2"), 'or all:3, got "fog:1,,2"'),
        (("in/a.png", "o.png", "--with", " "), "got no name at all"),
        (("in/a.png", "o.png", "--with", "fog:4-6"), "expected a severity of 1, 2, 3, 4 or 5"),
        (("in/a.png", "o.png", "--with", "fog"), "expected a folder for 5 images"),
        (("in/a.png", "file", "--with", "fog"), "expected a folder for 5 images"),
        (("in/a.png", "in/b.png", "--with", "fog:1"), "in/b.png is there already"),
        (("in/a.png", "o.png", "--with", "fog:0"), "expected a severity of 1, 2, 3, 4 or 5"),
        (
            ("in/a.png", "o.png", "--with", "fog:6"),
            "a severity of 1, 2, 3, 4 or 5, got 6; name one",
        ),
        (("in/a.png", "o.png", "--with", "fog:1", "--seed", "-1"), "expected a seed from 0"),
        (("in/a.png", "o.png", "--with", "fog:1", "--edition", "x"), 'unknown edition "x"'),
        (("in/a.png", "o.gif", "--with", "fog:1"), "expected a name that ends in one of"),
        (("in/a.png", "in/a.png", "--with", "fog:1"), "it is the input itself"),
        (("no.png", "o.png", "--with", "fog:1"), "cannot read no.png: there is no such file"),
        (("no", "out", "--with", "fog:1"), "cannot read no: there is no such file"),
        (("in", "in/out", "--with", "fog:1"), "lie one within the other"),
        (("in", ".", "--with", "fog:1"), "lie one within the other"),
        (("in", "in", "--with", "fog:1"), "in and in are the same; name"),
        (("in", "file", "--with", "fog:1"), "in is a folder and file is a file"),
        (("in", "out", "--with", "fgo:1"), 'unknown corruption "fgo"'),
        (("nothing", "out", "--with", "fog:1"), "there are no image files in nothing"),
    ],
)
def test_mistakes_are_one_message_and_code_2(run, arguments: tuple[str, ...], message: str) -> None:
    save("in/a.png")
    save("in/b.png")
    Path("nothing").mkdir()
    Path("file").touch()
    before = tree(".")
    code, out, err = run("corrupt", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert re.search(message, err)
    assert "Traceback" not in err
    assert tree(".") == before


def test_with_is_required_once(run) -> None:
    code, _, err = run("corrupt", "a.png", "b.png")
    assert code == 2
    assert "--with" in err


def test_a_link_does_not_lead_out_of_the_output_folder(run) -> None:
    save("in/a/cat.png")
    Path("elsewhere").mkdir()
    Path("out").mkdir()
    Path("out/a").symlink_to(Path("elsewhere").resolve())
    code, _, err = run("corrupt", "in", "out", "--with", "fog:1")
    assert code == 2
    assert "out/a: expected a file or folder of its own, got a link" in err
    assert tree("elsewhere") == []


def test_missing_textures_stop_a_folder(run, monkeypatch: pytest.MonkeyPatch) -> None:
    save("in/a.png")
    textures._load.cache_clear()
    monkeypatch.setenv("HARDY_TEXTURES", "nowhere")
    code, _, err = run("corrupt", "in", "out", "--with", "frost:1")
    assert code == 2
    assert err.startswith("error: HARDY_TEXTURES=nowhere does not hold the frost photographs")


def test_show(run) -> None:
    save("photo.png", np.random.default_rng(0).integers(0, 256, (60, 90, 3), dtype=np.uint8))
    assert run("show", "photo.png", "-o", "sheet.png", "--size", 32)[:2] == (0, "wrote sheet.png\n")
    sheet = pixels("sheet.png")
    assert sheet.shape[0] > 19 * 32
    assert sheet.shape[1] > 6 * 32
    code, _, err = run("show", "photo.png", "-o", "photo.png")
    assert code == 2
    assert "it is the input itself" in err
    code, _, err = run("show", "photo.png", "-o", "sheet.png", "--size", 7)
    assert code == 2
    assert "--size" in err


def test_demo_without_scikit_learn(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    code, _, err = run("demo")
    assert code == 2
    assert f": {install_command('demo')}\n" in err


def test_interrupting_ends_with_130_and_no_half_file(tmp_path: Path) -> None:
    save(str(tmp_path / "in/0.png"))
    for number in range(1, 5000):
        (tmp_path / f"in/{number}.png").hardlink_to(tmp_path / "in/0.png")
    command = [
        sys.executable,
        "-m",
        "hardy",
        "corrupt",
        "in",
        "out",
        "--with",
        "contrast:1",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    written = tmp_path / "out" / "corrupted.jsonl"
    while not written.exists() and process.poll() is None:  # all is imported by then
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert "Traceback" not in err
    assert process.returncode == 130
    *images, manifest = sorted({*tree(str(tmp_path / "out"))} - {BEGUN})
    assert manifest == "corrupted.jsonl"
    assert all(name.endswith(".png") and name[0] != "." for name in images)


def test_a_bar_is_shown_to_a_terminal_only(run, monkeypatch: pytest.MonkeyPatch) -> None:
    save("in/a.png")
    assert run("corrupt", "in", "out", "--with", "contrast:1")[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = run("corrupt", "in", "new", "--with", "contrast:1")
    assert (code, out) == (0, "wrote 1 images to new\n")
    assert "1/1" in err


def test_a_file_forges_no_error(run) -> None:
    np.savez("probe.npz", weight=np.zeros((2, 3)), backbone="net\nerror: all is lost")
    np.savez("images.npz", images=RGB[None, :32], labels=[0])
    how = ("--suite", "cifar10_c", "--images", "images.npz")
    code, _, err = run("eval", "linear:probe.npz", *how)
    assert code == 2
    assert r'unknown kind of model "net\nerror"' in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_a_lack_of_memory_is_told(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise MemoryError

    monkeypatch.setattr(hardy, "doctor", fail)
    assert run("doctor") == (2, "", "error: not enough memory\n")
