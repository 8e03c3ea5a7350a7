"""Every (edition, perturbation, level) gives the bytes it gave when it was published."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import hardy
from tests.golden.make_sequences import FILE, cases, digests

ROOT = Path(__file__).parents[2]


def test_bytes_are_those_published():
    expected, found = json.loads(FILE.read_text()), digests()
    again = "run `python -m tests.golden.make_sequences`, and say why"
    assert set(expected) == set(found) == set(cases()), again
    changed = [
        f"{entry}, {name}"
        for entry, sequences in found.items()
        for name, hashes in sequences.items()
        if hashes != expected[entry].get(name)
    ]
    assert not changed, f"other bytes than {FILE.name}: {'; '.join(changed)}. If meant, {again}"
    assert all(set(sequences) == set(hardy.perturbations()) for sequences in expected.values())


def test_a_fresh_process_agrees():
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden.make_sequences", "-"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert json.loads(done.stdout) == json.loads(FILE.read_text())
