"""mPC and rPC: the formulas, and the tables that they are made of."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

import hardy
from hardy.errors import InputError
from hardy.metrics import mpc, rpc

NAMES = hardy.corruptions()[:15]
VALUES = {
    (name, severity): round(40.0 - 0.7 * place - 4.3 * severity, 2)
    for place, name in enumerate(NAMES)
    for severity in range(1, 6)
}
CLEAN = {("clean", 0): 42.0}


def by_hand(values: dict[tuple[str, int], float]) -> float:
    """As the paper has it: a mean over corruptions of means over severities."""
    return fmean(fmean(v for (c, _), v in values.items() if c == name) for name, _ in values)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(values: dict[tuple[str, int], float], header: str = "corruption,severity,AP") -> str:
    lines = [header, *(f"{name},{severity},{value}" for (name, severity), value in values.items())]
    Path("table.csv").write_text("\n".join(lines) + "\n")
    return "table.csv"


def test_the_formulas_by_hand() -> None:
    two = [[0.4, 0.2], [0.3, 0.1]]
    assert mpc(two) == pytest.approx(0.25)
    assert rpc(two, 0.5) == pytest.approx(0.5)
    several = np.stack([two, np.array(two) / 2])
    np.testing.assert_allclose(rpc(several, [0.5, 0.5]), [0.5, 0.25])


@pytest.mark.parametrize(
    ("values", "clean", "message"),
    [
        ([0.1, 0.2], 0.5, r"\(\.\.\., corruptions, severities\), got the shape \(2,\)"),
        (np.empty((3, 0)), 0.5, r"got the shape \(3, 0\)"),
        ([[0.1, np.nan]], 0.5, "got NaN or infinity"),
        ([[0.1, 0.2]], 0.0, "clean performance above 0 to divide by, got 0"),
        ([[0.1, 0.2]], np.inf, "got NaN or infinity"),
    ],
)
def test_formulas_refuse_what_they_cannot_divide(values, clean, message) -> None:
    with pytest.raises(InputError, match=message):
        rpc(values, clean)


@pytest.mark.parametrize("from_file", [True, False])
def test_a_whole_table(from_file: bool) -> None:
    table = VALUES | CLEAN
    found = hardy.performance(write(table) if from_file else table)
    assert found.mpc == pytest.approx(by_hand(VALUES))
    assert found.rpc == pytest.approx(by_hand(VALUES) / 42.0)
    assert found.whole
    assert found.by_corruption["fog"] == pytest.approx(fmean(VALUES["fog", s] for s in range(1, 6)))
    assert repr(found) == "Performance(mPC 22.2, rPC 52.9 %)"
    assert found.measure == ("AP" if from_file else "performance")


def test_without_clean_images_there_is_no_relative_one() -> None:
    found = hardy.performance(VALUES)
    assert found.rpc is None
    assert "no rPC: the table has no line clean,0" in found.render("table")


def test_missing_cells_are_listed() -> None:
    some = {cell: value for cell, value in VALUES.items() if cell not in (("fog", 3), ("snow", 1))}
    with pytest.raises(InputError, match=r"expected 75 cells, got no snow:1, fog:3; add them, or"):
        hardy.performance(some)
    fogless = {cell: value for cell, value in VALUES.items() if cell[1] != 2}
    with pytest.raises(InputError, match=r"got no gaussian_noise:2, .*, contrast:2 and 3 more; "):
        hardy.performance(fogless)


def test_fewer_are_asked_for_and_told() -> None:
    found = hardy.performance(VALUES | CLEAN, only=["fog", "snow"], severities=[1, 3])
    chosen = {(n, s): VALUES[n, s] for n in ("snow", "fog") for s in (1, 3)}
    assert found.mpc == pytest.approx(by_hand(chosen))
    assert len(found.left_out) == 71
    assert not found.whole
    said = " ".join(found.render("md").split())
    assert "mean over corruptions (2) and severities (2), not the mPC of the benchmark" in said
    assert repr(found).startswith("Performance(mean ")
    assert "mPC" not in found.as_csv() + found.as_json()
    assert "left out: 71 further cells of the table" in said


def test_the_four_for_validation_do_not_count() -> None:
    more = VALUES | {("spatter", s): 0.0 for s in range(1, 6)}
    assert hardy.performance(more).mpc == hardy.performance(VALUES).mpc
    assert str(hardy.performance(more).left_out[0]) == "spatter:1"
    assert hardy.performance(more, only=["spatter"]).mpc == 0.0


def test_it_is_written_as_csv_and_json() -> None:
    found = hardy.performance(VALUES | CLEAN)
    lines = list(csv.DictReader(found.render("csv").splitlines()))
    assert json.loads(found.render("json"))[0] == {
        "corruption": "clean",
        "severity": 0,
        "performance": 42.0,
    }
    by_name = {line["corruption"]: line["performance"] for line in lines if not line["severity"]}
    assert float(by_name["mPC"]) == found.mpc
    assert float(by_name["rPC"]) == found.rpc


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({("fogg", 3): 1.0}, 'unknown corruption in .*table.*: "fogg"; did you mean "fog"'),
        ({("fog", 6): 1.0}, "expected a severity of fog among 1, 2, 3, 4, 5, got 6"),
        ({("clean", 1): 1.0}, "expected a severity of clean among 0, got 1"),
        ({("fog", 3): -1.0}, r"from 0 to 1, or in percent, got -1\.0; COCO's tools say -1"),
        ({("fog", 3): 101.0}, "from 0 to 1, or in percent, got 101"),
        ({("fog", 3): float("nan")}, "from 0 to 1, or in percent, got nan"),
        (
            {("clean", 0): 0.42},
            r"shares of 1, or all in percent, got 0\.42 for clean images beside",
        ),
        ({("clean", 0): 0.0}, "expected a clean performance above 0 to divide by, got 0"),
    ],
)
@pytest.mark.parametrize("from_file", [True, False])
def test_wrong_values_are_refused(change, message: str, from_file: bool) -> None:
    table = VALUES | change
    with pytest.raises(InputError, match=message):
        hardy.performance(write(table) if from_file else table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"table\.csv: expected the columns corruption,severity and one of .*, got nothing"),
        ("corruption,severity,AP,AP50\n", r"got corruption,severity,AP,AP50"),
        ("name,level,AP\n", r"expected the columns corruption,severity .*got name,level,AP"),
        ("corruption,severity,AP\nfog,3\n", "line 2: expected 3 values, got 2"),
        ("corruption,severity,AP\nfog,three,1\n", "line 2: expected a severity of fog .*'three'"),
        ("corruption,severity,AP\nfog,3,high\n", "line 2: expected a performance .*got 'high'"),
        ("corruption,severity,AP\n\nfog,3,1\nfog,3,2\n", "line 4: .* got fog:3 again; delete one"),
        ('corruption,severity,AP\n"fog,3,1\n', r"cannot read table\.csv \(.*\); expected a CSV"),
    ],
)
def test_wrong_files_are_refused(text: str, message: str) -> None:
    Path("table.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        hardy.performance("table.csv")


def test_other_things_are_refused() -> None:
    with pytest.raises(InputError, match=r"cannot read none\.csv"):
        hardy.performance("none.csv")
    Path("table.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="expected a CSV file"):
        hardy.performance("table.csv")
    with pytest.raises(InputError, match=r"expected keys such as \(\"fog\", 3\), got 'fog'"):
        hardy.performance({"fog": 0.3})  # type: ignore[dict-item]


def test_numbers_of_numpy_are_numbers() -> None:
    table = {(name, np.int64(s)): np.float32(value / 100) for (name, s), value in VALUES.items()}
    assert hardy.performance(table).mpc == pytest.approx(by_hand(VALUES) / 100, rel=1e-6)
