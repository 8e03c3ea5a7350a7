"""When a net that trains is measured: by its log, so that a resumed run decides alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy.errors import InputError
from hardy.train.measuring import Every, read_every
from hardy.train.run_folder import LOG_COLUMNS, MEASURED, check_log


def log_of(*seconds: float, measured: tuple[int, ...] = ()) -> list[dict[str, float]]:
    rows = []
    for epoch, one in enumerate(seconds, 1):
        row = {"epoch": epoch, "loss": 1.0, "lr": 0.1, "seconds": one, "images_per_second": 1.0}
        rows.append(row | dict.fromkeys(MEASURED, 0.5) if epoch in measured else row)
    return rows


def test_when_it_is_due() -> None:
    assert read_every("30m") == Every(seconds=1800)
    assert read_every(3) == Every(3)
    assert [Every(3).is_due(log_of(*[1] * n), 8) for n in range(1, 9)] == [
        *(False, False, True, False, False, True, False, True)
    ]
    minutes = Every(seconds=100)
    assert not minutes.is_due(log_of(60), 9)
    assert minutes.is_due(log_of(60, 60), 9)
    assert not minutes.is_due(log_of(60, 60, 60, measured=(2,)), 9)
    assert minutes.is_due(log_of(60, 60, 60, 60, measured=(2,)), 9)
    assert check_log(log_of(1, 1, measured=(2,)))
    within = {**log_of(70, measured=(1,))[0], "epoch": 1.5}
    within = {name: within[name] for name in LOG_COLUMNS} | {"step": 7, **within}
    before, after = log_of(60, 90)
    assert minutes.has_passed([before], 40)
    assert not minutes.has_passed([before], 39)
    assert not minutes.has_passed([before, within], 169)
    assert minutes.has_passed([before, within], 170)
    assert not minutes.is_due([before, within, after], 9)
    assert minutes.has_passed([before, within, after], 80)
    assert check_log([before, within, after])
    for wrong_order in ([within, before, after], [before, within, within], [before, after, within]):
        with pytest.raises(ValueError, match="its log has no numbers of epoch"):
            check_log(wrong_order)
    for wrong in ("0", "m", "1.5", "-3", "5h", True):
        with pytest.raises(InputError, match="expected `every` as a number of epochs, 1 or more"):
            read_every(wrong)


@pytest.mark.parametrize(
    ("alone", "message"),
    [
        ({"every": "30m"}, "expected `validation` images with `every` 30m, got it alone"),
        ({"every": 2}, "expected `validation` images with `every` 2, got it alone"),
        ({"teacher_weight": 0.5}, "expected a `teacher` with `teacher_weight` 0.5, got none"),
    ],
)
def test_what_would_change_nothing_is_refused(
    alone: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        hardy.train("standard", data="set.npz", out=tmp_path / "out", **alone)
    assert not (tmp_path / "out").exists()
