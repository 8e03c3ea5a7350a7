"""Every (suite, corruption, severity) gives the bytes it gave when it was published."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

import hardy
from hardy.corrupt import CORRUPTIONS
from hardy.suites import editions, load
from tests.cells import severities
from tests.golden.make import FILE, ODD, Digests, digest, digests, names, synthetic

ROOT = Path(__file__).parents[2]


def golden() -> Digests:
    return json.loads(FILE.read_text())


def assert_golden(found: Digests) -> None:
    expected = golden()
    assert set(found) == set(expected), "suites came or went: run `make golden`"
    changed = [
        f"{entry}, {name}, severity {number}"
        for entry, corruptions in expected.items()
        for name, hashes in corruptions.items()
        for number, (old, new) in enumerate(zip(hashes, found[entry][name], strict=True), start=1)
        if old != new
    ]
    assert not changed, (
        f"{len(changed)} cells have other bytes than {FILE.name}: {'; '.join(changed[:12])}"
        f"{' ...' if len(changed) > 12 else ''}. If that is meant, run `make golden`, and say why."
    )


def printed(**environment: str) -> Digests:
    """The digests of a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden.make", "-"],
        cwd=ROOT, env=os.environ | environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_file_has_every_cell():
    expected = golden()
    suites = {suite for suite in hardy.suites() if load(suite).corruptions}
    assert set(expected) == {*suites, *ODD}
    for entry, corruptions in expected.items():
        assert set(corruptions) == set(names(entry))
        for name, hashes in corruptions.items():
            levels = len(set(hashes)), len(hashes)
            assert levels == (len(severities(name)),) * 2, f"{entry}: two with the same bytes"
    assert set(CORRUPTIONS.names()) == {name for entry in expected for name in expected[entry]}
    assert {load(suite).edition.name for suite in suites} == set(editions())


def test_the_pictures_are_varied():
    # They must have flat, saturated and busy places, or the hashes watch over little.
    ramps, flats, noise = synthetic(64, 64)
    assert len(np.unique(ramps)) > 150
    assert np.mean(flats == 0) > 0.05
    assert np.mean(flats == 255) > 0.02
    assert np.mean(np.diff(flats.astype(int), axis=1) == 0) > 0.5
    assert len(np.unique(noise)) == 256


def test_golden_bytes():
    assert_golden(digests())


def test_golden_bytes_without_opencvs_fast_paths():
    assert cv2.useOptimized()
    cv2.setUseOptimized(False)
    try:
        assert_golden(digests())
    finally:
        cv2.setUseOptimized(True)


def test_golden_bytes_on_a_plain_processor(tmp_path):
    # numba compiles for the oldest x86-64 or Arm processor, NumPy does without its vector code.
    vector = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    assert_golden(
        printed(
            NUMBA_CPU_NAME="generic",
            NUMBA_CACHE_DIR=str(tmp_path),
            NPY_DISABLE_CPU_FEATURES=" ".join(vector),
        )
    )


def test_a_changed_byte_is_noticed():
    found = golden()
    assert_golden(found)
    found["cifar at 45x37"]["fog"][2] = digest("cifar", "fog", 4, (45, 37))
    with pytest.raises(AssertionError, match=r"1 cells .* 45x37, fog, severity 3\. .*make golden"):
        assert_golden(found)
