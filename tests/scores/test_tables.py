"""Tables on their way out: nothing is cut, no markup in names is obeyed."""

from __future__ import annotations

import csv
import io

import pytest

from hardy.scores.text_tables import TextTable, to_csv, to_markdown, to_terminal, to_text

NAME = "[bold]x[/bold] \x1b[31m|*y* <b> `z` & _w_\n"
SPELLED = r"[bold]x[/bold] \x1b[31m|*y* <b> `z` & _w_\n"


def columns(lines: list[str], word: str) -> list[str]:
    return [line for line in lines if word in line]


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_names_are_printed_as_they_are(narrow: None, capsys: pytest.CaptureFixture[str]) -> None:
    to_terminal([TextTable(NAME, (NAME, "mCE"), [(NAME, "76.7 ± 0.3")], notes=(NAME,))])
    out = capsys.readouterr().out
    assert out.startswith(SPELLED + "\n")
    assert "76.7 ± 0.3" in out
    assert "\x1b" not in out
    joined = "".join(line.strip() for line in out.splitlines())
    assert joined.count(SPELLED.replace(" ", "")) + joined.count(SPELLED) >= 2


def test_a_long_name_folds_and_loses_nothing(
    narrow: None, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "".join(chr(ord("a") + i % 26) for i in range(90))
    to_terminal([TextTable("t", ("model", "mCE"), [(name, "1.0")])])
    out = capsys.readouterr().out
    assert "".join(line.split()[0] for line in out.splitlines()[3:5]) == name
    assert max(map(len, out.splitlines())) <= 80


def test_a_wide_table_comes_in_pieces(narrow: None, capsys: pytest.CaptureFixture[str]) -> None:
    header = ("", *(f"model_{i}" for i in range(12)))
    rows = [(name, *(f"{i}{i}.5 ± 0.3" for i in range(12))) for name in ("fog", "snow")]
    to_terminal([TextTable("t", header, rows)])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    fog = [line.split()[1:] for line in lines if line.startswith("fog")]
    assert len(fog) > 1
    assert [word for piece in fog for word in piece] == " ".join(rows[0][1:]).split()
    assert "…" not in "".join(lines)


def test_a_narrow_terminal_still_gets_every_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    to_terminal(
        [TextTable("t", ("model", "a", "b", "c"), [("x" * 50, "1.23 ± 4.5", "2.0", "3.0")])]
    )
    out = capsys.readouterr().out
    assert all(number in out for number in ("1.23 ± 4.5", "2.0", "3.0"))


def test_names_break_between_their_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "58")
    name = "torchvision:efficientnet_b0.IMAGENET1K_V1"
    to_terminal([TextTable("t", (name, name), [("torch:some/long/folder/net.py:make", "1.0")])])
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()[1:4]]
    assert lines[0] == ["torchvision:"]
    assert lines[1] == ["torchvision:efficientnet_b0.IMAGENET1K_", "efficientnet_b0."]
    assert lines[2] == ["V1", "IMAGENET1K_V1"]


def test_words_stand_on_the_left() -> None:
    rows = [("a", "1.0", "≤ 0.002", "no numbers"), ("b", "–", "0.5", "2 words")]
    made = TextTable("t", ("", "mCE", "p", "which"), rows)
    assert "| --- | ---: | ---: | --- |" in to_markdown([made])
    assert to_text([made]).splitlines()[3].rstrip().endswith("no numbers")
    assert to_text([made]).splitlines()[4].rstrip().endswith("  2 words")


def test_text_has_no_colours() -> None:
    text = to_text([TextTable("t", ("a", "b"), [("x", "1")], frozenset({(0, 1)}))])
    assert "\x1b" not in text
    assert text.splitlines()[0] == "t"


def test_markdown() -> None:
    rows = [(NAME, "1.0"), ("gaussian_noise", "2.0 [1.0 to 4.0]")]
    text = to_markdown([TextTable("t", ("model", "mCE"), rows, frozenset({(0, 1)}), ("a note",))])
    lines = text.splitlines()
    assert lines[:4] == ["### t", "", "| model | mCE |", "| --- | ---: |"]
    name = r"\[bold\]x\[/bold\] \\x1b\[31m\|\*y\* &lt;b> \`z\` &amp; \_w\_\\n"
    assert lines[4] == f"| {name} | **1.0** |"
    assert lines[5] == r"| gaussian_noise | 2.0 \[1.0 to 4.0\] |"
    assert lines[6:] == ["", "a note"]


def test_csv_is_read_back() -> None:
    rows = [{"model": NAME, "value": 0.1, "names": ("fog", "snow"), "reference": None}]
    (back,) = csv.DictReader(io.StringIO(to_csv(rows), newline=""))
    assert back == {"model": NAME, "value": "0.1", "names": "fog snow", "reference": ""}


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_csv_has_no_formulas(start: str) -> None:
    rows = [{"model": f"{start}HYPERLINK(1)", "value": -0.5, "names": (f"{start}x",), "unit": ""}]
    (back,) = csv.DictReader(io.StringIO(to_csv(rows), newline=""))
    assert back["model"] == f"'{start}HYPERLINK(1)"
    assert back["names"] == f"'{start}x"
    assert back["value"] == "-0.5", "numbers are numbers"


LONG = "timm:vit_base_patch16_clip_224.openai_ft_in12k_in1k"


def test_a_name_stays_whole_where_there_is_room_for_it(
    narrow: None, capsys: pytest.CaptureFixture[str]
) -> None:
    to_terminal([TextTable("t", ("model", "mCE", "clean"), [(LONG, "1.0", "2.0")])])
    assert columns(capsys.readouterr().out.splitlines(), LONG)


def test_a_heading_folds_only_where_the_table_is_too_wide(
    narrow: None, capsys: pytest.CaptureFixture[str]
) -> None:
    to_terminal([TextTable("t", ("", "torch:net.py:make", LONG), [("fog", "1.0", "2.0")])])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["torch:net.py:make", LONG] in lines


def test_names_in_a_table_of_pieces_have_more_room(
    narrow: None, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = tuple("10.0 ± 1.0" for _ in range(6))
    to_terminal([TextTable("t", ("model", *"abcdef"), [(LONG[:40], *numbers)])])
    lines = capsys.readouterr().out.splitlines()
    assert len(columns(lines, LONG[:40])) == 2, "in each of two pieces"
    assert max(map(len, lines)) <= 80


def test_a_pipe_gets_a_line_per_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    numbers = tuple(f"{i}0.0 ± 1.0" for i in range(9))
    note = "a note of many words " * 9
    to_terminal([TextTable("t", ("model", *"abcdefghi"), [(LONG, *numbers)], notes=(note,))])
    lines = capsys.readouterr().out.splitlines()
    (row,) = columns(lines, LONG)
    assert all(number in row for number in numbers)
    assert columns(lines, note.strip())
