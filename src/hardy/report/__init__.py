"""Numbers to pages: `hardy.report(store, "report.html")`, and what it is made of.

This folder and the public function have one name, so the module itself can be called.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class _Report(ModuleType):
    def __call__(self, store: Any, output: Any, **options: Any) -> Path:
        """All runs of a store as one file, HTML or by its suffix: see `write.write_report`."""
        from hardy.report.write import write_report

        return write_report(store, output, **options)


sys.modules[__name__].__class__ = _Report
