"""Files of strangers as libraries are given them: what a header claims takes no memory."""

import io
from pathlib import Path
from typing import Any

from hardy.limits import check_regular
from hardy.places import is_url


class SizedFile(io.BufferedReader):
    """A file that gives no more than it has: before it reads, Python makes memory for all that is
    asked for, and libraries ask for what a header claims."""

    def __init__(self, path: Path) -> None:
        if not is_url(path):
            check_regular(path)
        raw: Any = path.open("rb", buffering=0)
        super().__init__(raw)
        self.length: int = raw.seek(0, io.SEEK_END)
        raw.seek(0)

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self.length if size is None else min(size, self.length))
