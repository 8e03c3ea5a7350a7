"""What is noted on the device "meta" is what would be launched, once for each way to compile it."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run
from textwrap import dedent
from typing import Any

import pytest

pytest.importorskip("triton")


def outside(script: str, **environment: str) -> Any:
    """What a process prints, evaluated; there triton is not the interpreter of other tests."""
    import os

    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = run(
        [sys.executable, "-c", dedent(script)],
        env=variables | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return eval(done.stdout)


def test_a_kernel_is_compiled_for_no_more_than_it_gains_by() -> None:
    found = outside("""
        from collections import Counter
        import numpy as np, torch
        from hardy.engine.ops import ops_for
        from hardy.engine.triton.launch import noted

        ops = ops_for(torch.empty(0, device="meta"))
        counts = {}
        def launched(name, *work):
            before = len(noted)
            for each in work:
                each()
            counts[name] = len(noted) - before

        images = torch.empty((3, 32, 48, 3), dtype=torch.uint8, device="meta")
        turn, window = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0), (0, 0, 16, 16)
        launched("sizes", *(
            lambda side=side: list(ops.affines(ops.canvas(images[:, :side]), [turn], window))
            for side in (16, 17, 31)
        ))
        launched("again", lambda: list(ops.affines(ops.canvas(images), [turn] * 5, window)))
        launched("another type", lambda: ops.uniform(ops.words(1, np.arange(3), 0, 16), 0.0, 1.0))
        print(counts)
    """)
    assert found == {"sizes": 2, "again": 0, "another type": 2}


def test_a_kernel_that_moved_in_its_file_is_not_compiled_anew(tmp_path: Path) -> None:
    kernel = dedent("""
        @jit
        def helper(x):
            return x + 1

        @jit
        def kernel(x):
            helper(x)
    """)
    start = "from hardy.engine.triton.stable_jit import jit\n"
    for name, source in {
        "before": start + kernel,
        "moved": start + "A = 1\n\n" + kernel,
        "changed": start + kernel.replace("x + 1", "x + 2"),
    }.items():
        (tmp_path / f"{name}.py").write_text(source)
    keys = outside(
        """
        import importlib, sys
        names = ("before", "moved", "changed")
        def key(name):
            sys.modules.pop("kernels", None)
            spec = importlib.util.spec_from_file_location("kernels", f"{name}.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module.kernel.cache_key
        import os, importlib.util
        os.chdir(os.environ["FOLDER"])
        print([key(name) for name in names])
        """,
        FOLDER=str(tmp_path),
    )
    assert keys[0] == keys[1] != keys[2]
