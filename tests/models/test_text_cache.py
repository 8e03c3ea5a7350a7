from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardy.models import text_cache
from hardy.models.text_cache import Features, cached_features

ROWS: Features = np.eye(3, 5, dtype=np.float32)
KEY = "a" * 64


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(text_cache, "text_cache", lambda: tmp_path / "kept")
    return tmp_path / "kept"


def make_anew() -> Features:
    return ROWS


def refuse() -> Features:
    raise AssertionError("made anew")


def test_features_are_made_once(folder: Path) -> None:
    np.testing.assert_array_equal(cached_features(KEY, 3, make_anew), ROWS)
    np.testing.assert_array_equal(cached_features(KEY, 3, refuse), ROWS)
    assert [path.name for path in folder.iterdir()] == [f"{KEY}.npz"]
    with pytest.raises(AssertionError, match="made anew"):
        cached_features("b" * 64, 3, refuse)


def keep(path: Path, **arrays: Any) -> None:
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    "damage",
    ["a bit", "cut", "no zip", "other key", "classes", "dtype", "length", "pickled", "no array"],
)
def test_what_is_damaged_is_made_anew(damage: str, folder: Path) -> None:
    cached_features(KEY, 3, make_anew)
    path = folder / f"{KEY}.npz"
    content = path.read_bytes()
    match damage:
        case "a bit":
            place = content.index(ROWS.tobytes())
            path.write_bytes(content[:place] + b"\1" + content[place + 1 :])
        case "cut":
            path.write_bytes(content[:-40])
        case "no zip":
            path.write_bytes(b"nothing")
        case "other key":
            keep(path, key="b" * 64, features=ROWS)
        case "classes":
            keep(path, key=KEY, features=ROWS[:2])
        case "dtype":
            keep(path, key=KEY, features=ROWS.astype(np.float64))
        case "length":
            keep(path, key=KEY, features=ROWS * np.float32(np.nan))
        case "pickled":
            keep(path, key=np.array([KEY], object), features=ROWS)
        case "no array":
            np.savez(path, key=np.array(KEY))
            with zipfile.ZipFile(path, "a") as archive:
                archive.writestr("features", b"text")
    with pytest.raises(AssertionError, match="made anew"):
        cached_features(KEY, 3, refuse)
    np.testing.assert_array_equal(cached_features(KEY, 3, make_anew), ROWS)
    np.testing.assert_array_equal(cached_features(KEY, 3, refuse), ROWS)


def test_where_nothing_can_be_kept_it_works_all_the_same(folder: Path) -> None:
    folder.write_text("a file where the folder would be")
    np.testing.assert_array_equal(cached_features(KEY, 3, make_anew), ROWS)
