"""A package whose plug-ins cannot be used: one line names it, and all else works."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import hardy as public
from tests.plugins import Hardy, place_plugin
from tests.report.stores import write_run

# Of each group: the kind in words, one of Hardy's own, and what is expected of an object.
KINDS = {
    "corruptions": ("corruption", "fog", "Corruption"),
    "metrics": ("metric", "error", "Metric"),
    "models": ("kind of model", "fake", "Callable"),
    "readers": ("image reader", "npy", "Reader"),
    "methods": ("method", "augmix", "type"),
    "figures": ("figure", "bars", "FigureKind"),
}
POINTS = {
    f"hardy.{kind}": {
        own: "hardy_bad:NUMBER",
        "absent": "hardy_bad:absent",
        "number": "hardy_bad:NUMBER",
    }
    for kind, (_, own, _) in KINDS.items()
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broken")


@pytest.fixture(scope="module")
def hardy(folder: Path) -> Hardy:
    return place_plugin(folder, "hardy_bad", POINTS, "NUMBER = 3")


@pytest.mark.parametrize("kind", KINDS)
def test_all_others_are_listed(hardy: Hardy, kind: str) -> None:
    what, own, of = KINDS[kind]
    lines = hardy("ls", kind).splitlines()
    usual = [entry.name.partition(":")[0] for entry in public.names(kind)]
    found = [line.partition("  ")[0].partition(":")[0] for line in lines]
    assert found == [*usual, "absent", "number"]
    told = [line.partition("WARNING: ")[2] for line in lines if "WARNING" in line]
    package = "of the package hardy_bad"
    assert len(told) == 3
    assert told[0].startswith(f'the plug-in {what} "{own}" (hardy_bad:NUMBER) {package} has the')
    assert told[1].startswith(f'the plug-in {what} "absent" (hardy_bad:absent) {package} cannot')
    assert told[2].startswith(f'the plug-in {what} "number" (hardy_bad:NUMBER) {package} is of')
    assert f"expected {of}, got 3; repair, rename or uninstall it" in told[2]


def test_all_else_works(hardy: Hardy, folder: Path) -> None:
    Image.new("RGB", (32, 32)).save(folder / "day.png")
    write_run(folder / "runs", "made up", "cifar10_c", images=12, classes=10)
    told = hardy("score", "runs")
    assert told.count('the plug-in metric "error" (hardy_bad:NUMBER) of the package') == 1
    assert "mean error" in told
    told = hardy("show", "day.png", "-o", "sheet.png")
    assert told.count('WARNING: the plug-in corruption "absent"') == 1
    assert (folder / "sheet.png").exists()
    told = hardy("report", "runs", "-o", "report.html")
    assert told.count('WARNING: the plug-in figure "absent"') == 1
    assert "by corruption" in (folder / "report.html").read_text()
    with pytest.raises(AssertionError, match=r'error: the plug-in corruption "fog" .* hardy_bad'):
        hardy("corrupt", "day.png", "out.png", "--with", "fog:3")
    with pytest.raises(AssertionError, match=r'error: the plug-in figure "number" .* hardy_bad'):
        hardy("plot", "runs", "number", "-o", "out.svg")


def test_doctor_names_them(hardy: Hardy) -> None:
    with pytest.raises(AssertionError) as failed:  # it exits with 1, since something is broken
        hardy("doctor")
    told = " ".join(str(failed.value).split())
    assert told.count("of the package hardy_bad") == 3 * len(KINDS)
    assert 'the plug-in figure "absent" (hardy_bad:absent) of the package hardy_bad' in told
