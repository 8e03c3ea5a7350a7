"""Archives as registries of packages have them."""

from __future__ import annotations

import io
import tarfile
import zipfile


def tarred(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in {**files, "../outside": b"never unpacked"}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in {**files, "../outside": b"never unpacked"}.items():
            archive.writestr(name, data)
    return stream.getvalue()
