"""The GPU's results: what is kept, what is judged and how the page tells it. No GPU is needed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import gpu, gpu_page, gpu_parity

RESULTS = Path(__file__).parent.parent.parent / "bench/results"
MACHINE = {"cpu": "a processor", "cores": 16, "load": 0.5, "gpu": "a GPU", "gpu_memory": 10**9,
           "cuda": "13.0", "python": "3.12"}  # fmt: skip
VERSIONS = {"torch": "2.11"}


@pytest.fixture
def here(monkeypatch):
    """This machine, as it would be with a GPU."""
    machine, versions = dict(MACHINE), dict(VERSIONS)
    monkeypatch.setattr(gpu, "hardware", lambda: machine)
    monkeypatch.setattr(gpu, "versions", lambda: versions)
    monkeypatch.setattr(gpu, "commit", lambda: "abc")
    return machine, versions


def stored(folder: Path, **more: Any) -> Path:
    target = folder / "gpu.json"
    target.write_text(json.dumps({"machine": MACHINE, "versions": VERSIONS, "commits": {}, **more}))
    return target


def row(commit: str, images: int = 50_000, on: float | None = 120.0, off: float | None = None):
    return {"images": images, "on": on, "off": off, "forward": [99.0, 101.0], "peak": 2.6,
            "warm_up": 60.0, "commit": commit}  # fmt: skip


def measure(folder: Path, *only: str) -> int:
    options = argparse.Namespace(out=folder, folder=folder, only=only, images=[8192], steps=["on"])
    return gpu.measure(options)


@pytest.mark.parametrize(
    ("which", "name", "value", "said"),
    [
        (0, "gpu", "another GPU", "gpu is 'another GPU' here and was 'a GPU'"),
        (0, "python", "3.13", "python is '3.13' here and was '3.12'"),
        (1, "torch", "2.12", "torch is '2.12' here and was '2.11'"),
        (1, "triton", "3.6", "triton is '3.6' here and was None"),
    ],
)
def test_results_of_another_machine_are_not_mixed(here, tmp_path, which, name, value, said):
    target = stored(tmp_path)
    before = target.read_bytes()
    here[which][name] = value
    with pytest.raises(SystemExit, match=f"{said}; name another --out"):
        measure(tmp_path)
    assert target.read_bytes() == before


def test_another_load_is_the_same_machine(here, tmp_path, monkeypatch):
    from bench import gpu_eval

    target = stored(tmp_path)
    here[0]["load"] = 7.0
    monkeypatch.setattr(gpu_eval, "measure", lambda *_: [row("")])
    assert measure(tmp_path, "evaluation") == 0
    assert json.loads(target.read_text())["machine"] == MACHINE


def test_a_first_measurement_says_where_it_was_made(here, tmp_path, monkeypatch):
    from bench import gpu_eval

    monkeypatch.setattr(gpu_eval, "measure", lambda *_: [row("")])
    measure(tmp_path / "new", "evaluation")
    found = json.loads((tmp_path / "new/gpu.json").read_text())
    assert (found["machine"], found["versions"]) == (MACHINE, VERSIONS)
    assert found["evaluation"] == [row("abc")]
    assert "a GPU" in (tmp_path / "new/gpu.md").read_text()


def test_earlier_rows_stay(here, tmp_path, monkeypatch):
    from bench import gpu_eval

    target = stored(tmp_path, evaluation=[row("old"), row("abc")])
    monkeypatch.setattr(gpu_eval, "measure", lambda *_: [row("", on=121.0)])
    measure(tmp_path, "evaluation")
    kept = json.loads(target.read_text())["evaluation"]
    assert kept == [row("old"), row("abc"), row("abc", on=121.0)]


def test_files_are_written_whole(here, tmp_path, monkeypatch):
    from bench import gpu_eval

    target = stored(tmp_path)
    (tmp_path / "gpu.md").write_text("a page")
    before = target.read_bytes()
    monkeypatch.setattr(gpu_eval, "measure", lambda *_: [row("")])

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hardy.files.os.replace", broken)
    for call in (lambda: measure(tmp_path, "evaluation"), lambda: gpu.write_page(target)):
        with pytest.raises(KeyboardInterrupt):
            call()
    assert target.read_bytes() == before
    assert (tmp_path / "gpu.md").read_text() == "a page"


def judged(*rows: dict[str, Any]) -> list[str]:
    return [str(bar) for bar in gpu_page.judge({"evaluation": list(rows)})]


def test_every_run_of_the_whole_set_is_judged():
    assert judged(row("old", on=131.0), row("new", on=120.0, off=119.0)) == [
        "FAIL  50,000 images × 76, storage step on, ≤ 1.3 × forward: 1.200 at new; 1.310 at old",
        "PASS  50,000 images × 76, storage step off, ≤ 1.2 × forward: 1.190 at new",
        "PASS  the whole of ImageNet-C in ≤ 4 minutes: 2.00 at new; 2.18 at old",
    ]
    (_, minutes) = judged(row("old", on=241.0) | {"forward": [200.0]}, row("new"))
    assert minutes.startswith("FAIL")


def test_fewer_images_are_shown_and_not_judged():
    few = row("abc", images=8192, on=150.0)
    assert judged(few) == []
    measured = {"machine": MACHINE, "versions": VERSIONS, "commits": {}, "evaluation": [few]}
    text = gpu_page.page(measured, [])
    assert "| 8,192  |" in text
    assert "1.500" in text
    assert "The bars are for 50,000 images" in text


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (None, "-"),
        ({"error": "ValueError: Input tensor must be a CPU tensor"}, "- (CPU only)"),
        ({"error": "no memory"}, "- (no memory)"),
        ({"error": "RuntimeError: something long and internal"}, "- (fails)"),
        ({"rate": 87_750.3, "at": 1024}, "87.8"),
        ({"rate": 35.1, "at": 16}, "0.0 (16 at a time)"),
    ],
)
def test_what_is_told_of_a_peer(found, told):
    assert gpu_page._told(found) == told


def test_how_much_was_compared_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_parity, "everything", lambda *_: {"64/fog/1": lambda: Made()})
    np.savez(tmp_path / "bytes.npz", **{"64/fog/1": np.zeros((3, 45, 61, 3), np.uint8)})

    class Made:
        def cpu(self):
            return self

        def numpy(self):
            return np.zeros((3, 45, 61, 3), np.uint8)

    parity = gpu_parity.compare(None, None, tmp_path)
    assert parity["64"]["images"] == [3, 45, 61]
    text = "".join(gpu_page._bytes({"reference": "elsewhere", "parity": parity}))
    assert "3 of 45 × 61" in text


def test_the_page_is_made_from_the_results():
    results = json.loads((RESULTS / "gpu.json").read_text(encoding="utf-8"))
    text = gpu_page.page(results, gpu_page.judge(results))
    assert (RESULTS / "gpu.md").read_text(encoding="utf-8") == text
    for chosen, (count, height, width) in gpu_parity.CHECKED.items():
        assert results["parity"][chosen]["images"] == [count, height, width]
        assert results["parity"][chosen]["values"] == (
            results["parity"][chosen]["compared"] * count * height * width * 3
        )
