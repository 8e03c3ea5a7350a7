"""Hardy without what only Linux and its kin have: Windows and macOS, as far as they can be feigned.

Where `fcntl` is missing filelock takes a lock of another kind, as it does on Windows.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

BARE = """
import os, signal, sys, warnings
import platformdirs  # which looks at the name of the system, not at what it has
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for owner, names in {
    os: "O_DIRECTORY O_NOFOLLOW O_NONBLOCK fork getuid geteuid mkfifo pread sched_getaffinity "
    "sync wait",
    signal: "SIGALRM SIGKILL SIGUSR1 pthread_sigmask",
}.items():
    for name in names.split():
        delattr(owner, name)
os.supports_dir_fd.clear()
opened = os.open

def open_file(path, flags, mode=0o777, *, dir_fd=None):
    if dir_fd is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)  # Windows opens no folder
    return opened(path, flags, mode)

os.open = open_file
warnings.filterwarnings("ignore", "only soft file lock")
"""

PROGRAMS = {
    "import": "import hardy, hardy.files, hardy.execute, hardy.cli",
    "eval": "hardy.evaluate('fake:10', suite='cifar10_c', images='set.npz', store='runs', "
    "only=['contrast']).score()",
    "build": "hardy.build('imagenet_c', images='val', out='built', only=['contrast'], workers=2)\n"
    "    assert hardy.verify('built').fine",
    "arrays": "hardy.build('cifar10_c', images='set.npz', out='built', only=['contrast'])\n"
    "    assert hardy.verify('built').fine",
    "corrupt": "hardy.corrupt_files('val', 'corrupted', ['contrast:1-2'])",
    "report": "hardy.evaluate('fake:10', suite='cifar10_c', images='set.npz', store='runs', "
    "only=['contrast']); hardy.report('runs', 'report.html')",
    "train": "hardy.train('standard', data='set.npz', out='net', net='wrn_16_4', epochs=1)",
}


def run(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    script = folder / "program.py"  # which the workers of a build read too
    script.write_text(f'{BARE}\nimport hardy\nif __name__ == "__main__":\n    {body}\n')
    command = [sys.executable, str(script)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("what", PROGRAMS)
def test_it_works_without(what: str, tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), np.uint8)
    np.savez(tmp_path / "set.npz", images=images, labels=np.arange(20) % 10)
    (tmp_path / "val" / "n01440764").mkdir(parents=True)
    Image.fromarray(images[0]).resize((224, 224)).save(tmp_path / "val/n01440764/one.png")
    done = run(tmp_path, PROGRAMS[what])
    assert done.returncode == 0, done.stderr


def test_a_folder_is_still_held_by_one_process(tmp_path: Path) -> None:
    why = "older ones, without fcntl, keep the lock of a dead process: no system we support does"
    pytest.importorskip("filelock", "4.2.10", reason=why)
    hold = "hold(Path('lock'), 'it is busy')"
    held = f"from pathlib import Path; from hardy.locks import hold; held = {hold}"
    done = run(tmp_path, f"{held}; {hold}")
    assert "BusyFolder: it is busy" in done.stderr
    assert run(tmp_path, held).returncode == 0  # the lock went with its process
