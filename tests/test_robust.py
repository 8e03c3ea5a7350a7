"""What an attack found: each was a traceback, a crash or a silent loss once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.engine import textures
from hardy.errors import printable
from hardy.variants.mirror import corrupt_files

RGB = np.random.default_rng(1).integers(0, 256, (16, 24, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fog", "longer side, here 40000 pixels"),
        ("frost", "frost over 8 x 40000 pixels would be"),
    ],
)
def test_a_long_thin_image_is_refused_before_it_fills_the_memory(name, message):
    with pytest.raises(hardy.InputError, match=message):
        hardy.corrupt(np.zeros((8, 40000, 3), np.uint8), name, 3)


def test_jpeg_says_how_long_a_side_may_be():
    with pytest.raises(hardy.InputError, match="at most 65500 pixels, got width 65501, height 8"):
        hardy.corrupt(np.zeros((8, 65501, 3), np.uint8), "jpeg_compression", 3)


def test_an_image_that_cannot_be_corrupted_does_not_stop_the_folder(tmp_path):
    (tmp_path / "in").mkdir()
    Image.fromarray(RGB).save(tmp_path / "in" / "a.png")
    Image.fromarray(np.zeros((8, 40000, 3), np.uint8)).save(tmp_path / "in" / "b.png")
    Image.fromarray(RGB).save(tmp_path / "in" / "c.png")
    outcome = corrupt_files(tmp_path / "in", tmp_path / "out", "fog", 3)
    assert outcome.done == 2
    assert [line.split(":")[0] for line in outcome.bad] == [str(tmp_path / "in" / "b.png")]


def test_what_is_wrong_for_all_images_is_said_once(tmp_path):
    (tmp_path / "in").mkdir()
    Image.fromarray(RGB).save(tmp_path / "in" / "a.png")
    with pytest.raises(hardy.InputError, match="did you mean"):
        corrupt_files(tmp_path / "in", tmp_path / "out", "fogg", 3)


def test_a_damaged_cache_of_machine_code_is_replaced(tmp_path):
    """Emptied files, as after a power cut: the same result, and a cache that works again."""
    program = (
        "import hardy, numpy as np;"
        "print(hardy.corrupt(np.full((8, 8, 3), 99, np.uint8), 'contrast', 3).sum())"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    first = run()
    files = [path for path in tmp_path.rglob("*.nb?") if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(b"")
    assert run() == first
    assert run() == first
    assert any(path.stat().st_size for path in tmp_path.rglob("*.nb?"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_a_fork_does_not_inherit_a_held_lock():
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with textures._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if textures._lock.acquire(timeout=5) else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_folder_that_may_not_be_entered_is_said_plainly(monkeypatch):
    """`Path.is_file` raises there; as root nothing is forbidden, so a stand-in does it."""

    def forbidden(self: Path, **_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_file", forbidden)
    monkeypatch.setattr(os.path, "isfile", lambda path: False)
    assert len(textures.texture_faults(Path("somewhere"))) == len(textures.TEXTURES)


def test_names_cannot_write_to_the_terminal():
    assert printable("a\nb\x1b[31mc\udce9 é") == "a\\nb\\x1b[31mc\\udce9 é"


def test_draws_must_be_a_mapping_and_may_be_of_no_image():
    with pytest.raises(hardy.InputError, match=r"expected draws as a mapping.*NoneType"):
        hardy.replay(RGB, "fog", 3, None)
    assert hardy.draw("fog", 3, (8, 8), ids=[])["steps"].shape == (0, 63)


def test_a_huge_range_of_ids_is_counted_first():
    with pytest.raises(hardy.InputError, match="1 in all, got 1000000000"):
        hardy.corrupt(RGB, "contrast", 3, ids=range(10**9))
