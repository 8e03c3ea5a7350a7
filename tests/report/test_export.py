from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from hardy.errors import InputError
from hardy.report.gathered import StoreReport, gather
from hardy.report.write import as_markdown, scored, write_report
from hardy.scores.result_files import parse_result
from hardy.suites.cells import CLEAN
from tests.report.conftest import LONG, MARKUP, QUOTES
from tests.scores.helpers import errors, write_run


def test_markdown_has_tables_sentences_and_circumstances(report: StoreReport) -> None:
    text = as_markdown(report)
    assert "<" not in text
    assert re.search(r"^\| long-x+ \|", text, re.M)
    assert "Error against severity: From severity 1 to 5" in text
    assert "| Images' ids, labels, pixels |" in text
    widths = {
        table: {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        for table, lines in _tables(text).items()
    }
    assert all(len(width) == 1 for width in widths.values())


def _tables(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if line.startswith("#"):
            title = line
        elif line.startswith("|"):
            found.setdefault(title, []).append(line)
    return found


def test_csv_has_a_line_per_score(report: StoreReport) -> None:
    rows = list(csv.DictReader(io.StringIO(scored(report, pytest.fail).as_csv())))
    entries = [entry for part in report.sections for entry in part.entries]
    assert len(rows) == sum(map(len, (entry.scores for entry in entries)))
    assert {row["model"] for row in rows} == {MARKUP, QUOTES, LONG}
    first = rows[0]
    assert float(first["value"]) == entries[0].scores[first["name"]].value


def test_json_is_a_result_file(report: StoreReport) -> None:
    results = [
        parse_result(one, "report") for one in json.loads(scored(report, pytest.fail).as_json())
    ]
    assert [one.name for one in results] == [MARKUP, QUOTES, LONG, MARKUP, LONG]


def test_json_leaves_out_what_an_attack_stored(tmp_path: Path) -> None:
    made = errors(names=["fog"])
    write_run(tmp_path, {CLEAN: made[CLEAN]}, model="attacked")
    with pytest.raises(InputError, match="got only clean images of attacked"):
        scored(gather(tmp_path), pytest.fail).as_json()
    write_run(tmp_path, made, model="good")
    told: list[str] = []
    text = scored(gather(tmp_path), told.append).as_json()
    (line,) = told
    assert line.startswith("left out: attacked on imagenet_c, which holds predictions on clean")
    assert parse_result(json.loads(text), "report").name == "good"
    with pytest.warns(UserWarning, match="left out: attacked"):
        write_report(tmp_path, tmp_path / "result.json")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_damaged_runs_are_told(form: str, tmp_path: Path) -> None:
    write_run(tmp_path, errors(names=["fog"]), model="good")
    damaged = write_run(tmp_path, errors(names=["fog"]), model="other")
    for part in damaged.folder.glob("parts/*"):
        part.write_bytes(b"nothing")
    told: list[str] = []
    write_report(tmp_path, tmp_path / f"result.{form}", tell=told.append)
    (line,) = told
    assert "is damaged" in line
