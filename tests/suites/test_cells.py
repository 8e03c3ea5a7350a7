"""Which cells a suite has, and where they lie."""

import pytest

from hardy.errors import InputError
from hardy.suites import load
from hardy.suites.cells import Cell, cell_folder, choose_cells


def test_what_counts_at_all_severities_in_the_suites_order() -> None:
    suite = load("imagenet_c")
    cells = choose_cells(suite)
    assert len(cells) == 75
    assert cells[:6] == (*(Cell("gaussian_noise", k) for k in range(1, 6)), Cell("shot_noise", 1))
    assert [cell.name for cell in cells[::5]] == list(suite.counted)


def test_groups_and_names_are_joined_and_keep_the_suites_order() -> None:
    suite = load("imagenet_c")
    names = suite.counted + suite.validation
    assert [cell.name for cell in choose_cells(suite, ["all"], [2])] == list(names)
    assert [str(c) for c in choose_cells(suite, ["saturate", "fog"], [3, 1])] == [
        "fog:1",
        "fog:3",
        "saturate:1",
        "saturate:3",
    ]
    assert len(choose_cells(suite, ["validation", "fog"])) == 25
    assert choose_cells(suite, ["fog", "fog"]) == choose_cells(suite, ["fog"])


def test_only_noise_sequences_have_levels() -> None:
    suite = load("imagenet_p")
    cells = choose_cells(suite)
    assert [cell.level for cell in cells if cell.name == "shot_noise"] == [1, 2, 3]
    assert [cell.level for cell in cells if cell.name == "tilt"] == [1]
    assert len(cells) == 14


@pytest.mark.parametrize(
    ("only", "severities", "message"),
    [
        (["fgo"], None, 'unknown corruption of imagenet_c "fgo"; did you mean "fog"'),
        (["fog"], [6], "expected severities among 1, 2, 3, 4, 5 for fog, got 6"),
        (["fog"], [0, 1], "expected severities among 1, 2, 3, 4, 5 for fog, got 0, 1"),
        (["fog"], [], "got none"),
        ([], None, "expected at least one corruption of imagenet_c, got no name at all"),
    ],
)
def test_what_is_not_there(only: list[str], severities: list[int] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_cells(load("imagenet_c"), only, severities)


def test_a_level_that_no_chosen_sequence_has() -> None:
    with pytest.raises(InputError, match="among 1 for tilt, got 2"):
        choose_cells(load("imagenet_p"), ["tilt"], [2])
    assert choose_cells(load("imagenet_p"), ["tilt", "shot_noise"], [2]) == (Cell("shot_noise", 2),)


def test_folders() -> None:
    assert cell_folder(load("imagenet_c"), Cell("fog", 3)) == "fog/3"
    sequences = load("imagenet_p")
    assert cell_folder(sequences, Cell("shot_noise", 1)) == "shot_noise"
    assert cell_folder(sequences, Cell("shot_noise", 3)) == "shot_noise_3"


def test_one_cell_for_each_corruption_whose_strength_is_drawn() -> None:
    suite = load("noc_23")
    assert [str(cell) for cell in choose_cells(suite)] == [f"{name}:1" for name in suite.counted]
    with pytest.raises(InputError, match=r"expected severities among 1 for .*, got 1, 2"):
        choose_cells(suite, ["noc_rain"], [1, 2])
