"""A training method that another package brings: listed, in the help, trained by, and marked."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.plugins import install_plugin
from tests.train.small import write_arrays

CODE = '''
from dataclasses import dataclass

from hardy.train.method import Method


@dataclass
class Greyed(Method):
    """All images lose a part of their contrast."""

    share: float = 0.5
    seen = ("contrast",)

    def augment(self, pixels):
        return pixels + self.share * (0.5 - pixels)
'''


def test_a_method_of_another_package(tmp_path: Path) -> None:
    hardy = install_plugin(tmp_path, "hardy.methods", "greyed", "Greyed", CODE)
    write_arrays(tmp_path, count=16, side=32)
    listed = hardy("ls", "methods").splitlines()
    assert listed[-1].split(maxsplit=1) == ["greyed", "All images lose a part of their contrast."]
    told = " ".join(hardy("train", "--help").split())
    assert re.search(r"Methods: standard, [\w, ]+, greyed\.", told)
    trained = hardy(
        *("train", "greyed", "--set", "share=1/4", "--data", "set.npz", "--out", "net"),
        *("--net", "wrn_16_4", "--epochs", 1, "--device", "cpu"),
    )
    assert "trained wrn_16_4 by greyed, " in trained
    assert "; corruptions seen: contrast\n" in trained
    record = json.loads((tmp_path / "net" / "run.json").read_text())
    assert record["method"] == {"name": "greyed", "share": 0.25}
    scores = hardy(
        *("eval", "hardy:net", "--suite", "cifar10_c", "--images", "set.npz", "--own-classes"),
        *("--only", "contrast,fog", "--severities", 1, "--device", "cpu", "--store", "runs"),
    )
    assert re.search(r"hardy:net: mean error [\d.]+ ± [\d.]+ % † \(2 corruptions", scores)
    assert "† trained on contrast: not unseen by this model" in scores
    hardy("report", "runs", "-o", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert re.search(r"hardy:net.*†", page, re.DOTALL)
    assert "trained on contrast" in page
