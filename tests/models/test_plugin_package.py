"""A kind of model from a package of its own: listed, in help, evaluated, scored and reported."""

from __future__ import annotations

from pathlib import Path

from tests.plugins import install_plugin
from tests.suites.helpers import write_rows

CODE = """
    import numpy as np


    class ByBrightness:
        identity, preprocessing, device, precision = "by brightness", None, "cpu", "float32"

        def __init__(self, classes, name):
            self.classes, self.name = classes, name

        def logits(self, images, preprocessing=None):
            level = images.mean((1, 2, 3)) * self.classes // 256
            return np.eye(self.classes, dtype=np.float32)[level.astype(int)]


    def mean_model(rest, options):
        '''Tells images apart by their mean brightness.'''
        return ByBrightness(int(rest), options.name)
"""


def test_a_kind_of_model_is_one_file_and_one_row(tmp_path: Path) -> None:
    hardy = install_plugin(tmp_path, "hardy.models", "mean", "mean_model", CODE)
    line = next(line for line in hardy("ls", "models").splitlines() if line.startswith("mean "))
    assert line.endswith("Tells images apart by their mean brightness.")
    assert "fake:CLASSES, mean." in " ".join(hardy("eval", "--help").split())
    images = write_rows(tmp_path, 20)
    few = ("--suite", "cifar10_c", "--images", images, "--only", "fog", "--severities", "1,3")
    assert "mean:10: mean error" in hardy("eval", "mean:10", *few)
    (row,) = [line for line in hardy("score", "runs").splitlines() if "mean:10 " in line]
    assert "90.0 [67.1 to 98.7] %" in row, "a score with its interval"
    hardy("report", "runs", "-o", "report.html")
    assert "mean:10" in (tmp_path / "report.html").read_text()
