"""Small packages of each layout of icons, and a world in which they are all that there is."""

import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hardy.images.icons50 import collection
from hardy.images.icons50.icon_tables import Icon, IconSource
from hardy.progress import untracked

ICONS = (
    Icon("ball", "soccer_ball", "26BD", ("soccer",), "soccer-ball"),
    Icon("ball", "baseball", "26BE", ("baseball",), "baseball"),
    Icon("numbers", "keycap_digit_one", "0031-20E3", ("one",), "keycap-1"),
    Icon("hand", "victory_hand", "270C-1F3FB", (), "victory-hand-light"),
)
HUES = {"26BD": (200, 0, 0), "26BE": (0, 0, 200), "0031-20E3": (0, 200, 0), "270C-1F3FB": (9, 9, 9)}


def drawing(codes: str, side: int = 64, border: int = 0) -> Image.Image:
    """A disc in a colour of its own on nothing."""
    rows, columns = np.mgrid[:side, :side] - (side - 1) / 2
    inside = rows**2 + columns**2 < (side / 2 - border) ** 2
    pixels = np.zeros((side, side, 4), np.uint8)
    pixels[inside] = (*HUES[codes], 255)
    return Image.fromarray(pixels)


def saved(image: Image.Image, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **({"lossless": True} if kind == "WEBP" else {}))
    return stream.getvalue()


def disc_svg(codes: str) -> str:
    return f'<circle cx="16" cy="16" r="16" fill="rgb{HUES[codes]}"/>'


def whole_svg(codes: str) -> bytes:
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    return f"{head}{disc_svg(codes)}</svg>".encode()


def pack(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def a_sheet() -> dict[str, bytes]:
    sheet = Image.new("RGBA", (128, 128))
    sheet.paste(drawing("26BD"), (64, 0))
    sheet.paste(drawing("270C-1F3FB"), (0, 64))
    tone = {"unified": "270C-1F3FB", "sheet_x": 0, "sheet_y": 1, "has_img_acme": True}
    listed = [
        {"unified": "26BD", "sheet_x": 1, "sheet_y": 0, "has_img_acme": True},
        {"unified": "26BE", "sheet_x": 1, "sheet_y": 1, "has_img_acme": False},
        {"unified": "270C", "sheet_x": 1, "sheet_y": 1, "skin_variations": {"270C-1F3FB": tone}},
    ]
    return {
        "package/sheet_acme_64.png": saved(sheet),
        "package/emoji.json": json.dumps(listed).encode(),
    }


def bodies(chars: dict[str, str]) -> dict[str, bytes]:
    document = {
        "width": 32,
        "height": 32,
        "icons": {"soccer-ball": {"body": disc_svg("26BD")}, "hit": {"body": disc_svg("26BE")}},
        "aliases": {"baseball": {"parent": "hit", "hFlip": True}},
    }
    return {
        "package/icons.json": json.dumps(document).encode(),
        "package/chars.json": json.dumps(chars).encode(),
    }


# By layout: where drawings lie, what is in the package, and which icons it has.
PACKAGES: dict[str, tuple[str, str, dict[str, bytes], set[str]]] = {
    "png": (
        "codes",
        "package/img/acme/64",
        {
            "package/img/acme/64/26bd-fe0f.png": saved(drawing("26BD")),
            "package/img/acme/64/0031-fe0f-20e3.png": saved(drawing("0031-20E3", border=8)),
            "package/img/acme/64/1f602.png": b"another emoji, which is not opened",
            "package/img/acme/26be.png": b"in another folder",
            "package/../../26be.png": b"climbs out",
        },
        {"26BD", "0031-20E3"},
    ),
    "emoji_u": (
        "codes",
        "package/png/128",
        {"package/png/128/emoji_u270c_1f3fb.png": saved(drawing("270C-1F3FB", 128))},
        {"270C-1F3FB"},
    ),
    "webp": (
        "codes",
        "package/assets",
        {"package/assets/26be.webp": saved(drawing("26BE", 256), "WEBP")},
        {"26BE"},
    ),
    "svg": (
        "codes",
        "package/assets",
        {"package/assets/26BD.svg": whole_svg("26BD"), "package/assets/26besvg": whole_svg("26BE")},
        {"26BD", "26BE"},
    ),
    "words": (
        "codes",
        "package/fxemoji",
        {"package/fxemoji/u26BD-bed.svg": whole_svg("26BD")},
        {"26BD"},
    ),
    "names": (
        "names",
        "package/pngs",
        {"package/pngs/soccer.png": saved(drawing("26BD")), "package/pngs/joy.png": b"another"},
        {"26BD"},
    ),
    "sheet": ("sheet", "package/sheet_acme_64.png", a_sheet(), {"26BD", "270C-1F3FB"}),
    "iconify": (
        "iconify",
        "package/icons.json",
        bodies({"26bd": "soccer-ball", "26be": "baseball"}),
        {"26BD", "26BE"},
    ),
    "noto": ("noto", "package/icons.json", bodies({}), {"26BD", "26BE"}),
}


def source_of(name: str, style: str = "acme", terms: str = "free") -> IconSource:
    layout, place, files, _ = PACKAGES[name]
    digest = hashlib.sha256(packed(files)).hexdigest()
    return IconSource(style, f"{name}@1.0", layout, place, 1.0, "MIT", terms, ("free",), digest)


_PACKED: dict[int, bytes] = {}


def packed(files: dict[str, bytes]) -> bytes:
    """Packed once: an archive has the time in it."""
    return _PACKED.setdefault(id(files), pack(files))


def world(monkeypatch: pytest.MonkeyPatch, folder: Path, sources: list[IconSource]) -> list[str]:
    """Only these packages exist; returns the list of those that are fetched."""
    asked: list[str] = []

    def npm_pack(package: str, into: Path) -> Path:
        asked.append(package)
        name = package.partition("@")[0]
        if name not in PACKAGES:
            raise OSError(f"npm's registry has no {package} (any more)")
        path = into / "package.tgz"
        path.write_bytes(packed(PACKAGES[name][2]))
        return path

    monkeypatch.setattr(collection, "icons", lambda: ICONS)
    monkeypatch.setattr(collection, "sources_of", lambda name: sources)
    monkeypatch.setattr(collection, "npm_pack", npm_pack)
    there = [source for source in sources if source.package.partition("@")[0] in PACKAGES]
    monkeypatch.setattr(collection, "icons_folder", lambda: folder / "elsewhere")
    collection._bring_all(there, untracked)
    known = collection._fill(folder / "elsewhere/set", "free", there)
    shutil.rmtree(folder / "elsewhere")
    monkeypatch.setattr(collection, "MANIFESTS", {"free": known})
    monkeypatch.setattr(collection, "icons_folder", lambda: folder / "icons50")
    asked.clear()
    return asked
