"""`hardy stylise` as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hardy.cli import app
from hardy.errors import InputError
from tests.stylise.tiny_adain import tiny, write_classes, write_pictures

__all__ = ["tiny"]


def test_the_command(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_classes(Path("photos"), 1)
    write_pictures(Path("paintings"), 2)
    words = "stylise --data photos --styles paintings --out out --weights tiny.safetensors"

    def run(*more: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, [*words.split(), "--device", "cpu", *more])
        if isinstance(done.exception, InputError):
            raise done.exception
        return done.exit_code, done.output

    code, said = run()
    assert code == 0
    assert "stylised 3 images in out\n" in said
    assert "next: hardy train ant --data SRC --stylised out" in said
    assert "stylised 0 images in out, 3 were there" in run()[1]
    with pytest.raises(InputError, match=r"alpha is 0\.5 and was 1\.0"):
        run("--alpha", "0.5")
    Path("photos/cat/01.png").write_bytes(b"")
    words = words.replace("--out out", "--out second")
    code, said = run()
    assert code == 1
    assert "1 picture could not be used:" in said
