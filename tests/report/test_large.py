"""The promised sizes, on a whole ImageNet-C run and on many result files."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from hardy.report.gathered import StoreReport
from hardy.report.leaderboard import leaderboard
from hardy.scores.result_files import result_of
from tests.photos import paths
from tests.report.stores import write_run

pytestmark = pytest.mark.slow


def test_whole_imagenet_c_run_within_two_gigabytes(tmp_path: Path) -> None:
    write_run(tmp_path / "runs", "model", images=50_000)
    code = (
        "import sys; from hardy.report.write import write_report;"
        "write_report(sys.argv[1], sys.argv[2], photo=sys.argv[3])"
    )
    target = tmp_path / "report.html"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code, tmp_path / "runs", target, paths()[0]], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert max(before.ru_maxrss, after.ru_maxrss) < 2_000_000  # kilobytes
    assert target.stat().st_size < 8_000_000


def test_leaderboard_of_200_files(report: StoreReport, tmp_path: Path) -> None:
    first = json.loads(json.dumps(result_of(report.sections[0].entries[0].scores)))
    for number in range(200):
        other = deepcopy(first)
        other["model"] |= {"name": f"model {number}", "identity": str(number)}
        (tmp_path / f"{number}.json").write_text(json.dumps(other))
    page = leaderboard([tmp_path], tmp_path / "site")
    assert page.read_text("utf-8").count("<tr data-text=") == 200
