"""Tries Hardy as it was installed, away from its sources: `make test-package` runs this.

It is a program for the Python of a fresh environment, with one argument: the folder src/hardy that
the package was built from.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import hardy


def files(folder: Path) -> set[str]:
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {name for name in found if "__pycache__" not in name}


def run(*arguments: str) -> str:
    # -I: neither the folder nor PYTHONPATH brings other modules in.
    command = [sys.executable, "-I", "-m", "hardy", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def main(sources: Path) -> None:
    package = Path(hardy.__file__).parent
    assert package.is_relative_to(sys.prefix), package
    assert files(package) == files(sources), files(package) ^ files(sources)
    assert {"py.typed", "suites/imagenet_c.toml"} <= files(package)
    assert any(name.startswith("report/templates/") for name in files(package))
    assert run("--version") == f"hardy {hardy.__version__}\n"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        draws = np.random.default_rng(0)
        for name in ("cats/1.png", "cats/2.png", "dogs/1.png", "dogs/2.png"):
            path = Path("photos", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(draws.integers(0, 256, (32, 32, 3)).astype(np.uint8)).save(path)
        assert "wrote 4 images" in run("corrupt", "photos", "out", "--with", "contrast:3")
        some = ("--own-classes", "--only", "contrast", "--severities", "1")
        run("eval", "fake:2", "--suite", "cifar10_c", "--images", "photos", *some)
        assert "fake:2" in run("score", "runs")
        os.chdir(sys.prefix)  # Windows removes no folder that somebody is in
    assert "fog" in run("ls", "corruptions")
    script = Path(sys.prefix, "Scripts" if sys.platform == "win32" else "bin", "hardy")
    assert subprocess.check_output([script, "--version"], text=True) == run("--version")
    print(f"hardy {hardy.__version__} in {package} works")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
