"""What is being built in a folder, `manifest.json`: the suite, its source, and every image's name.

It is checked field by field when it is read, since all else that a build does follows from it.
"""

import re
from math import prod
from pathlib import Path
from typing import Any

from hardy.documents import SUITE_NAME, check_record, read_json
from hardy.errors import InputError
from hardy.limits import LISTING, PIXELS
from hardy.schema import (
    LIST,
    TEXT,
    TEXTS,
    WHOLE,
    Field,
    all_of,
    at_least,
    expect,
    is_text,
    is_whole,
    one_of,
    or_null,
)
from hardy.variants import BUILD_FORMATS

HEADER = "manifest.json"
VERSION = 1


def _is_number(value: Any) -> bool:
    return is_whole(value, least=0) and value < 2**63  # as arrays hold them


def _are_ids(value: Any) -> bool:
    return all_of(is_text)(value) or all_of(_is_number)(value)


def _is_cell(value: Any) -> bool:
    return is_text(value) and re.fullmatch(r".{1,200}:[0-9]{1,3}", value) is not None


def _is_shape(value: Any) -> bool:
    return all_of(is_whole)(value) and len(value) == 3 and prod(value) <= 3 * PIXELS.value


def _is_first(value: Any) -> bool:
    return LIST.fits(value) and len(value) == 2 and is_whole(value[0], 0) and is_text(value[1])


_FROM_ZERO = at_least(0)
_HEADER_FIELDS = {
    **dict.fromkeys(("suite_hash", "recipe", "images_hash"), TEXT),
    "suite": SUITE_NAME,
    "suite_version": WHOLE,
    "seed": _FROM_ZERO,
    "format": one_of([name for names in BUILD_FORMATS.values() for name in names]),
    "shape": Field("height, width and channels of an image", _is_shape),
    "images": WHOLE,
    "files": TEXTS,
    "ids": Field("a list of ids, names or whole numbers", _are_ids),
    "labels": or_null(Field("a list of class numbers", all_of(_is_number))),
    "classes": or_null(TEXTS),
    "first_image": Field("the place of an image, and a hash", _is_first),
    "cells": Field("a list of cells such as fog:3", all_of(_is_cell)),
}


def read_header(folder: Path) -> dict[str, Any] | None:
    """What is built in a folder; None where nothing is."""
    path = folder / HEADER
    todo = "restore the file, or build anew in another folder"
    try:
        header = read_json(path, "JSON", todo, limit=LISTING)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not isinstance(header, dict) or header.get("manifest") != VERSION:
        raise InputError(f"{path}: expected a manifest of version {VERSION}; {todo}")
    header = check_record(header, _HEADER_FIELDS, path, todo)
    for name in ("files", "ids", "labels"):
        listed = header[name]
        right = listed is None or len(listed) == header["images"]
        expect(right, f"{header['images']:,}, one per image", listed, f"{path}: {name}", todo)
    return header
