"""`hardy mpc`."""

from __future__ import annotations

import json
from pathlib import Path

import hardy


def write(clean: float = 0.5) -> None:
    lines = [f"{n},{s},{0.4 - 0.05 * s:.2f}" for n in hardy.corruptions()[:15] for s in range(1, 6)]
    Path("ap.csv").write_text("\n".join(["corruption,severity,AP", f"clean,0,{clean}", *lines]))


def test_it_prints_both_numbers(run) -> None:
    write()
    code, out, err = run("mpc", "ap.csv")
    assert (code, err) == (0, "")
    assert out.startswith("AP: mPC 0.250, rPC 50.0 % of 0.500 on clean images\n")
    assert "mean over corruptions (15) and severities (5)\n" in out
    assert out.count("0.350") == 15


def test_it_writes_them(run) -> None:
    write()
    assert run("mpc", "ap.csv", "--format", "json", "-o", "mpc.json")[1] == "wrote mpc.json\n"
    (found,) = (
        line for line in json.loads(Path("mpc.json").read_text()) if line["corruption"] == "rPC"
    )
    assert round(found["AP"], 9) == 0.5


def test_cells_that_are_missing_are_named_with_the_options(run) -> None:
    write()
    text = Path("ap.csv").read_text()
    Path("ap.csv").write_text(text.replace("fog,2,0.30\n", ""))
    code, out, err = run("mpc", "ap.csv")
    assert (code, out) == (2, "")
    assert "expected 75 cells, got no fog:2; add them, or ask for fewer by --only or --sev" in err
    code, out, _ = run("mpc", "ap.csv", "--severities", "1,3")
    assert code == 0
    assert out.startswith("AP: mean 0.300, 60.0 % of 0.500 on clean images\n")
    assert "and severities (2), not the mPC of the benchmark" in " ".join(out.split())


def test_severities_may_be_ranges(run) -> None:
    write()
    for typed, meant in (("1, 3-5", "1,3,4,5"), ("1-3", "1,2,3"), ("1-3,2", "1,2,3")):
        ranged, listed = (run("mpc", "ap.csv", "--severities", all) for all in (typed, meant))
        assert ranged == listed
        assert ranged[0] == 0
