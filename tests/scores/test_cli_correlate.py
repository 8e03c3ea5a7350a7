"""`hardy correlate`, as typed."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from hardy.cli.design_commands import correlate_shifts
from hardy.errors import InputError


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command()(correlate_shifts)

    def run(*arguments: str) -> list[str]:
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output.splitlines()

    return run


def test_correlations(run) -> None:
    lines = ["model,suite,clean,accuracy"]
    for k, (one, two) in enumerate(zip(range(5), (1, 0, 2, 4, 3), strict=True)):
        lines += [f"m{k},a,0.9,{0.9 - one / 10}", f"m{k},b,0.9,{0.9 - two / 10}"]
    Path("r.csv").write_text("\n".join(lines) + "\n")
    out = run("r.csv", "--with", "b")
    assert any("a and b" in line and "0.80 [" in line for line in out)
    run("r.csv", "-o", "out.csv")
    head, row = Path("out.csv").read_text().splitlines()
    assert head.startswith("first,second,suites,models,pearson,pearson_low,pearson_high,spearman")
    assert row.startswith("a,b,1,5,")
    assert float(row.split(",")[4]) == pytest.approx(0.8)
    Path("more.csv").write_text(f"{lines[0]}\nm0,c,0.9,0.5\n")
    assert "left out: c (1 model); a correlation takes 5 or more" in run(
        "r.csv", "more.csv", "-o", "same.csv"
    )
    assert Path("same.csv").read_text() == Path("out.csv").read_text()
    Path("link.csv").symlink_to("r.csv")
    before = Path("r.csv").read_text()
    for same in ("r.csv", "./r.csv", "link.csv"):
        with pytest.raises(InputError, match=r"cannot write \w+.csv: the results are read from it"):
            run("r.csv", "-o", same)
    assert Path("r.csv").read_text() == before


def test_only_its_own_files_are_replaced(run) -> None:
    lines = [f"m{k},{suite},0.9,{k / 10}" for k in range(5) for suite in "ab"]
    Path("r.csv").write_text("\n".join(["model,suite,clean,accuracy", *lines]) + "\n")
    for text in ("a thesis", "", "first,second\n"):
        Path("foreign.txt").write_text(text)
        with pytest.raises(InputError, match="it is no table that `hardy correlate` wrote; name"):
            run("r.csv", "-o", "foreign.txt")
        assert Path("foreign.txt").read_text() == text
    with pytest.raises(InputError, match="it is a folder"):
        run("r.csv", "-o", ".")
    for _ in range(2):
        assert run("r.csv", "-o", "own.csv") == ["wrote own.csv"]
