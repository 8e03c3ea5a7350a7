"""The command line, from its arguments to its files, messages and exit codes."""

import re
import signal
import subprocess
import sys
import time
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy import diagnosis as doctor
from hardy import pictures
from hardy.catalogue import KINDS
from hardy.engine import textures

RGB = np.random.default_rng(4).integers(0, 256, (40, 32, 3), dtype=np.uint8)


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


@pytest.mark.parametrize("kind", KINDS)
def test_ls(run, kind: str) -> None:
    code, out, err = run("ls", kind)
    assert (code, err) == (0, "")
    entries = hardy.names(kind)
    lines = out.splitlines()
    assert len(lines) == len(entries) > 1
    for line, entry in zip(lines, entries, strict=True):
        assert line.split() == f"{entry.name} {entry.category} {entry.summary}".split()
    starts = {line.index(entry.summary) for line, entry in zip(lines, entries, strict=True)}
    assert len(starts) == 1, "summaries stand in a column"
    assert len({entry.summary for entry in entries}) == len(entries)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"suites"}))
def test_summaries_are_sentences(kind: str) -> None:
    for entry in hardy.names(kind):
        assert not entry.summary[0].islower() or "x" in entry.summary, f"{entry}: no formula"
        assert entry.summary.endswith("."), entry


def test_ls_knows_the_public_names(run) -> None:
    for kind, names in (("corruptions", hardy.corruptions()), ("suites", hardy.suites())):
        assert tuple(entry.name for entry in hardy.names(kind)) == names
    assert "Tiny ImageNet-C" in run("ls", "suites")[1]
    code, out, err = run("ls", "metods")
    assert (code, out) == (2, "")
    assert 'unknown kind "metods"; did you mean "methods"? (all: corruptions, ' in err


def test_a_plug_in_that_cannot_be_imported_is_listed_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = EntryPoint("broken", "no_such_module:thing", "hardy.defences")
    monkeypatch.setattr(KINDS["defences"], "_plugins", {"broken": broken})
    entry = hardy.names("defences")[-1]
    assert entry.name == "broken"
    assert "cannot be imported" in entry.summary
    assert "No module named 'no_such_module'" in entry.summary


def test_lists_and_help_import_no_framework() -> None:
    program = """
import sys
for heavy in ("torch", "sklearn", "onnxruntime", "plotly", "matplotlib"):
    sys.modules[heavy] = None
import hardy
from hardy.catalogue import KINDS
for kind in KINDS:
    assert hardy.names(kind)
sys.argv = ["hardy", "train", "--help"]
from hardy.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "groupwise_inhibition, corrupted." in done.stdout


def test_help_lists_what_can_be_named(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    plug_in = EntryPoint("magic", "no_such_module:thing", "hardy.methods")
    monkeypatch.setattr(KINDS["methods"], "_plugins", {"magic": plug_in})
    code, out, _ = run("train", "--help")
    assert code == 0
    for kind in ("methods", "nets"):
        assert ", ".join(entry.name for entry in hardy.names(kind)) in " ".join(out.split())
    assert "magic" in out


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
    assert (code, out, err) == (0, "wrote 2 images to out, left 1 other files alone\n", "")
    assert tree("out") == ["a/b/dog.png", "cat.png"]
    dog = hardy.corrupt(RGB[::-1], "gaussian_noise", 2, ids="a/b/dog")
    np.testing.assert_array_equal(pixels("out/a/b/dog.png"), dog)
    cat = hardy.corrupt(RGB, "gaussian_noise", 2, ids="cat")
    np.testing.assert_array_equal(pixels("out/cat.png"), cat)
    assert run("corrupt", "in", "out", "--with", "gaussian_noise:2")[0] == 0, "again"
    assert tree("out") == ["a/b/dog.png", "cat.png"]


def test_broken_files_are_listed_and_the_others_done(run) -> None:
    save("in/good.png")
    save("in/a/cut.png")
    Path("in/a/cut.png").write_bytes(Path("in/a/cut.png").read_bytes()[:500])
    Path("in/empty.jpg").touch()
    Path("in/[red]text.jpg").write_text("no image")
    save("in/small.png", RGB[:7])
    code, out, err = run("corrupt", "in", "out", "--with", "brightness:1")
    assert (code, out) == (1, "wrote 1 images to out\n")
    assert tree("out") == ["good.png"]
    assert "4 files could not be used:" in err
    for path, reason in (
        ("in/[red]text.jpg", "not an image that Pillow knows"),
        ("in/a/cut.png", "truncated"),
        ("in/empty.jpg", "the file is empty"),
        ("in/small.png", "at least 8 pixels per side, got 7 x 32"),
    ):
        assert any(path in line and reason in line for line in err.splitlines()), path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("in/a.png", "o.png", "--with", "fgo:3"), 'unknown corruption "fgo"; did you mean "fog"'),
        (("in/a.png", "o.png", "--with", "fog"), 'NAME:SEVERITY such as fog:3, got "fog"'),
        (("in/a.png", "o.png", "--with", "fog:2.5"), 'NAME:SEVERITY such as fog:3, got "fog:2.5"'),
        (("in/a.png", "o.png", "--with", "fog:0"), "expected a severity of 1, 2, 3, 4 or 5"),
        (("in/a.png", "o.png", "--with", "fog:6"), "expected a severity of 1, 2, 3, 4 or 5"),
        (("in/a.png", "o.png", "--with", "fog:1", "--seed", "-1"), "expected a seed from 0"),
        (("in/a.png", "o.png", "--with", "fog:1", "--edition", "x"), 'unknown edition "x"'),
        (("in/a.png", "o.gif", "--with", "fog:1"), "expected a name that ends in one of"),
        (("in/a.png", "in/a.png", "--with", "fog:1"), "it is the input itself"),
        (("no.png", "o.png", "--with", "fog:1"), "cannot read no.png: there is no such file"),
        (("no", "out", "--with", "fog:1"), "cannot read no: there is no such file"),
        (("in", "in/out", "--with", "fog:1"), "lie one within the other"),
        (("in", ".", "--with", "fog:1"), "lie one within the other"),
        (("in", "in", "--with", "fog:1"), "lie one within the other"),
        (("in", "file", "--with", "fog:1"), "in is a folder and file is a file"),
        (("in", "out", "--with", "fgo:1"), 'unknown corruption "fgo"'),
        (("twins", "out", "--with", "fog:1"), "twins/a.jpg and twins/a.png have the same id"),
        (("nothing", "out", "--with", "fog:1"), "there are no image files in nothing"),
    ],
)
def test_mistakes_are_one_message_and_code_2(run, arguments: tuple[str, ...], message: str) -> None:
    save("in/a.png")
    save("twins/a.png")
    save("twins/a.jpg")
    Path("nothing").mkdir()
    Path("file").touch()
    before = tree(".")
    code, out, err = run("corrupt", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
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
    assert "is a link that leads out of out" in err
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
    assert 'pip install "hardy[demo]"' in err
    monkeypatch.setattr(pictures, "find_spec", lambda _: None)
    with pytest.raises(hardy.MissingResource, match="bring your own"):
        pictures.sample_photo()


def test_doctor(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, out, _ = run("doctor")
    assert code == 0
    for what in ("hardy", "python", "numpy", "numba", "opencv", "pillow", "processors", "frost"):
        assert any(line.startswith(what) for line in out.splitlines()), what
    assert np.__version__ in out

    monkeypatch.setenv("HARDY_TEXTURES", str(tmp_path))
    code, out, _ = run("doctor")
    assert code == 1
    assert "frost1.png is missing" in out
    assert "to do: put the files of the wheel imagecorruptions==1.1.2 there" in out


def test_doctor_without_textures(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HARDY_TEXTURES", raising=False)
    monkeypatch.setattr(textures, "_cache_folder", lambda: tmp_path)
    code, out, _ = run("doctor")
    assert code == 0
    assert "pip fetches imagecorruptions==1.1.2 when frost is first used" in out
    monkeypatch.setattr(doctor, "find_spec", lambda _: None)
    code, out, _ = run("doctor")
    assert code == 1
    assert "there is no pip to fetch it" in out
    assert "set HARDY_TEXTURES" in out


@pytest.mark.parametrize(
    ("installed", "cuda", "said"),
    [
        ((), False, "CPU: without torch there is no GPU engine"),
        (("torch", "triton"), False, "CPU: torch 2.0 finds no CUDA device"),
        (("torch", "triton"), True, "Big One for models and tensors on it, else CPU; Triton 3.0"),
        (("torch",), True, "Big One for models and tensors on it, else CPU; plain torch"),
    ],
)
def test_doctor_says_which_engine_is_used(
    installed, cuda, said, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cuda:
        is_available = staticmethod(lambda: cuda)
        get_device_name = staticmethod(lambda: "Big One")

    class Torch:
        __version__ = "2.0"
        cuda = Cuda

    monkeypatch.setitem(sys.modules, "torch", Torch)
    monkeypatch.setattr(
        doctor, "find_spec", lambda name: Torch if name in (*installed, "pip") else None
    )
    monkeypatch.setattr(doctor, "version", lambda name: {"triton": "3.0"}.get(name, "1"))
    code, out, _ = run("doctor")
    assert code == 0
    lines = [line for line in out.splitlines() if line.startswith("engine")]
    assert len(lines) == 1
    assert said in lines[0]


def test_doctor_names_a_torch_that_does_not_load(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(doctor, "find_spec", lambda name: doctor)
    code, out, _ = run("doctor")
    assert code == 1
    assert "to do: install torch anew" in out


def test_doctor_names_a_missing_package(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    code, out, _ = run("doctor")
    assert code == 1
    assert "to do: pip install opencv-python-headless" in out


def test_doctor_reads_the_extras_from_the_project(run) -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    extras = set(project["project"]["optional-dependencies"]) - {"dev", "bench"}
    assert set(doctor.USES) == extras, "the others are for working on Hardy"
    lines = run("doctor")[1].splitlines()
    shown = {line.split()[0] for line in lines}
    assert {f"hardy[{extra}]" for extra in extras} < shown
    assert {re.split("[^A-Za-z-]", one)[0] for one in project["project"]["dependencies"]} < shown


def test_doctor_says_what_a_missing_extra_is_for(run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor.find_spec
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "av" else real(name))
    code, out, _ = run("doctor")
    assert code == 0
    assert 'not installed; needed for MP4 video only: pip install "hardy[video]"' in out


def test_doctor_names_a_cache_that_cannot_be_written(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardy.engine.cpu.compile.cache_folder", lambda kernel: None)
    code, out, _ = run("doctor")
    assert code == 1
    assert "to do: set NUMBA_CACHE_DIR" in out


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
    while not tree(str(tmp_path / "out")) and process.poll() is None:  # all is imported by then
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert process.returncode == 130
    assert all(name.endswith(".png") and name[0] != "." for name in tree(str(tmp_path / "out")))


def test_a_bar_is_shown_to_a_terminal_only(run, monkeypatch: pytest.MonkeyPatch) -> None:
    save("in/a.png")
    assert run("corrupt", "in", "out", "--with", "contrast:1")[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = run("corrupt", "in", "out", "--with", "contrast:1")
    assert (code, out) == (0, "wrote 1 images to out\n")
    assert "1/1" in err
