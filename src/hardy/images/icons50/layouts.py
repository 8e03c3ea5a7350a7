"""Where drawings lie in packages: five layouts, each a function from an archive to drawings.

| layout    | drawings                                                                         |
|-----------|----------------------------------------------------------------------------------|
| `codes`   | a file each, called by its characters: 1f602.png, emoji_u1f602.png, u1F602-joy.svg |
| `names`   | a file each, called by a short name: joy.png                                     |
| `sheet`   | cells of 64 x 64 of one picture; emoji.json beside it says which is where        |
| `iconify` | icons.json has the body of each SVG, chars.json says which character it is       |
| `noto`    | the same without a chars.json: the names are those of @iconify-json/noto         |

No file of a package is written to the disk, and none of its paths is followed: members are read by
their names, into memory, up to a limit.
"""

import posixpath
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hardy.documents import parse_json
from hardy.engine.door import UInt8
from hardy.images.icons50.icon_tables import Icon, IconSource, plain_codes
from hardy.images.icons50.raster import decode, render

_LARGEST = 2**26  # bytes of a file in a package
_CELL = 64
_CODES = re.compile(r"(?:emoji_u)?([0-9a-fA-F]+(?:[-_][0-9a-fA-F]+)*)\.?(?:png|svg|webp)")
_CODE_AND_WORDS = re.compile(r"u([0-9A-F]{4,6})-.*\.svg")
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'

Drawings = Iterator[tuple[Icon, UInt8]]
Icons = Mapping[str, Icon]  # by their characters


def drawings(archive: tarfile.TarFile, source: IconSource, wanted: Icons) -> Drawings:
    """The icons that a package has of a style, each with its picture (H, W, 4)."""
    return LAYOUTS[source.layout](archive, source, wanted)


def _by_codes(archive: tarfile.TarFile, source: IconSource, wanted: Icons) -> Drawings:
    def icon_of(name: str) -> Icon | None:
        match = _CODE_AND_WORDS.fullmatch(name) or _CODES.fullmatch(name)
        return wanted.get(plain_codes(re.split("[-_]", match[1]))) if match else None

    yield from _files(archive, source.place, icon_of)


def _by_names(archive: tarfile.TarFile, source: IconSource, wanted: Icons) -> Drawings:
    named = {f"{name}.png": icon for icon in wanted.values() for name in icon.short_names}
    yield from _files(archive, source.place, named.get)


def _files(
    archive: tarfile.TarFile, folder: str, icon_of: Callable[[str], Icon | None]
) -> Drawings:
    """The first file of each icon; in the order of their names, not of the archive."""
    places = {}
    for member in archive:
        above, name = posixpath.split(member.name)
        if above == folder and member.isfile() and (icon := icon_of(name)) is not None:
            places[name] = (member, icon)
    done = set()
    for name in sorted(places):
        member, icon = places[name]
        if icon in done:
            continue
        done.add(icon)
        content = _read(archive, member)
        yield icon, render(content.decode("utf-8")) if name.endswith("svg") else decode(content)


def _by_cells(archive: tarfile.TarFile, source: IconSource, wanted: Icons) -> Drawings:
    sheet = decode(_read(archive, archive.getmember(source.place)))
    vendor = source.place.split("_")[1]
    listed = _json(archive, "package/emoji.json")
    cells = [one for entry in listed for one in (entry, *_tones(entry))]
    done = set()
    for cell in cells:
        icon = wanted.get(plain_codes(cell["unified"].split("-")))
        if icon is None or icon in done or not cell.get(f"has_img_{vendor}"):
            continue
        done.add(icon)
        left, top = (_CELL * int(cell[f"sheet_{axis}"]) for axis in "xy")
        yield icon, sheet[top : top + _CELL, left : left + _CELL]


def _tones(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(entry.get("skin_variations", {}).values())


def _by_bodies(archive: tarfile.TarFile, source: IconSource, wanted: Icons) -> Drawings:
    chars = _json(archive, "package/chars.json")
    names: dict[Icon, str] = {}
    for codes in sorted(chars):
        icon = wanted.get(plain_codes(codes.split("-")))
        if icon is not None:
            names.setdefault(icon, chars[codes])
    yield from _bodies(_json(archive, source.place), names)


def _by_noto_names(archive: tarfile.TarFile, source: IconSource, wanted: Icons) -> Drawings:
    names = {icon: icon.noto_name for icon in wanted.values() if icon.noto_name}
    yield from _bodies(_json(archive, source.place), names)


def _bodies(document: Mapping[str, Any], names: Mapping[Icon, str]) -> Drawings:
    for icon, name in names.items():
        alias = document.get("aliases", {}).get(name, {})
        found = document["icons"].get(alias.get("parent", name))
        if found is not None:
            yield icon, render(_svg({**document, **found}, mirrored=bool(alias.get("hFlip"))))


def _svg(icon: Mapping[str, Any], *, mirrored: bool) -> str:
    left, top, width, height = (
        icon.get(key, usual)
        for key, usual in (("left", 0), ("top", 0), ("width", 16), ("height", 16))
    )
    body = icon["body"]
    if mirrored:
        body = f'<g transform="translate({2 * left + width} 0) scale(-1 1)">{body}</g>'
    return f'{_SVG} viewBox="{left} {top} {width} {height}">{body}</svg>'


def _json(archive: tarfile.TarFile, name: str) -> Any:
    return parse_json(_read(archive, archive.getmember(name)))


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member) if member.isfile() and member.size <= _LARGEST else None
    if stream is None:
        raise OSError(f"{member.name} is no file, or is larger than {_LARGEST:,} bytes")
    return stream.read()


LAYOUTS: dict[str, Callable[[tarfile.TarFile, IconSource, Icons], Drawings]] = {
    "codes": _by_codes,
    "names": _by_names,
    "sheet": _by_cells,
    "iconify": _by_bodies,
    "noto": _by_noto_names,
}
