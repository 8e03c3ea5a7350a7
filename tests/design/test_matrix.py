"""Reading a matrix of overlaps, and refusing what is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardy.design.matrix import Matrix, read_matrix
from hardy.design.results import square_csv
from hardy.errors import InputError
from tests.design.matrices import random_matrix


def written(folder: Path, text: str) -> Path:
    path = folder / "matrix.csv"
    path.write_text(text)
    return path


def test_round_trip_to_the_last_digit(tmp_path) -> None:
    matrix = random_matrix(7)
    found = read_matrix(written(tmp_path, square_csv("x", matrix.names, matrix.values)))
    assert found.names == matrix.names
    assert np.array_equal(found.values, matrix.values)


def test_rows_in_another_order(tmp_path) -> None:
    text = "x,a,b,c\nc,0.3,0.4,1\n\na,1,0.2,0.3\nb,0.2,1,0.4\n"
    found = read_matrix(written(tmp_path, text))
    assert found.names == ("a", "b", "c")
    assert found.values.tolist() == [[1, 0.2, 0.3], [0.2, 1, 0.4], [0.3, 0.4, 1]]


def test_undefined_corruptions_are_named_and_can_be_left_out(tmp_path) -> None:
    values = random_matrix(5).values.copy()
    values[2, :] = values[:, 2] = np.nan
    values[2, 2] = 1
    path = written(tmp_path, square_csv("x", ("a", "b", "c", "d", "e"), values))
    with pytest.raises(InputError, match=r"none for 8 cells, such as a and c; leave out c \(`wit"):
        read_matrix(path)
    assert read_matrix(path, ["c"]).names == ("a", "b", "d", "e")
    with pytest.raises(InputError, match=r'unknown corruption of .*"f"'):
        read_matrix(path, ["f"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a matrix with names across and down, got none"),
        ("x,a,b\na,1,0.2\nb,0.3,1\n", "same overlap both ways, got 0.2 and 0.3 for a and b"),
        ("x,a,b\na,1,0.2\nb,0.2,0.9\n", "expected 1 on the diagonal, got 0.9 for b"),
        ("x,a,b\na,1,-0.2\nb,-0.2,1\n", "overlaps from 0 to 1,000,000, got -0.2 for a and b"),
        ("x,a,b\na,1,1e308\nb,1e308,1\n", r"overlaps from 0 to 1,000,000, got 1e\+308 for a and b"),
        ("x,a,b\na,1,inf\nb,inf,1\n", "got inf for a and b"),
        ("x,a,b\na,1,\nb,0.2,1\n", "none for 1 cells, such as a and b; complete it"),
        ("x,a,b\na,1,nan\nb,0.2,1\n", "none for 1 cells"),
        ("x,a,b,c\na,1,,\nb,,1,\nc,,,1\n", "no two corruptions have an overlap: train for"),
        ("x,a,b\na,1,0.2\nb,0.2\n", "none for 1 cells, such as b and b"),
        ("x,a,b\na,1,much\nb,0.2,1\n", 'a and b: expected a number, got "much"'),
        ("x,a,b\na,1,0.2,3\nb,0.2,1\n", "a: expected 2 numbers, got 3"),
        ("x,a,b\na,1,0.2\nc,0.2,1\n", '"c" is 1 times down and 0 times across'),
        ("x,a,b\na,1,0.2\na,0.2,1\n", '"a" is 2 times down'),
        ("x,a,a\na,1,0.2\na,0.2,1\n", "each once"),
        ("x,none,a\nnone,1,0.2\na,0.2,1\n", 'none "none"'),
        ("x,a\na,1\n", "two or more corruptions"),
    ],
)
def test_what_is_no_matrix(tmp_path, text, message) -> None:
    with pytest.raises(InputError, match=message):
        read_matrix(written(tmp_path, text))


def test_no_file(tmp_path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_matrix(tmp_path / "none.csv")


def test_shape() -> None:
    with pytest.raises(InputError, match=r"2 x 2, got \(2, 3\)"):
        Matrix(("a", "b"), np.ones((2, 3)))


def test_more_than_can_be_searched() -> None:
    with pytest.raises(InputError, match="expected up to 400 corruptions, got 401"):
        Matrix(tuple(f"c{k}" for k in range(401)), np.eye(401))


def test_far_more_are_refused_at_once(tmp_path) -> None:
    names = [f"c{place}" for place in range(100_000)]
    path = written(tmp_path, f"x,{','.join(names)}\nc0,1\n")
    with pytest.raises(InputError, match="expected up to 400 corruptions, got 100,000"):
        read_matrix(path)


def test_what_is_left_out_does_not_count(tmp_path) -> None:
    names = [f"c{place}" for place in range(402)]
    path = written(tmp_path, square_csv("x", names, np.eye(402)))
    assert len(read_matrix(path, names[:2]).names) == 400
    with pytest.raises(InputError, match="expected up to 400 corruptions, got 401"):
        read_matrix(path, names[:1])
