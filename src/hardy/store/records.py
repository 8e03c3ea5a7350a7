"""What a run's folder says about its predictions: `run.json`, and the images with their labels."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hardy import limits
from hardy.documents import SUITE_NAME, check_record, read_json, seal
from hardy.errors import InputError
from hardy.files import RECORD, whole_file
from hardy.images.source import Ids
from hardy.models.model import DefenceFacts
from hardy.schema import TABLE, TEXT, TEXTS, WHOLE, Field, all_of, check_fields, is_whole, or_null
from hardy.store.parts import damaged, read_groups
from hardy.store.sessions import SESSIONS, SessionRecord, parts_that_count, read_sessions

RUN, IMAGES = RECORD, "images.parquet"
VERSION = 2
FORMER = "former_names"  # of the model, as sessions before the last one that renamed it said
ALSO = "also_called"  # other names that it was evaluated by, such as another file with its weights
# When it was last evaluated by each name, and by each file of that name: which, and when.
CLAIMS = "claims"
# A run of version 1 had one writer at a time, which kept in run.json what sessions say now.
_READABLE = (1, VERSION)
_SAID: dict[str, Any] = {"classes": None, "width": None, "frames": {}, "sessions": []}
LABELLED = ("suite", "own")  # whose classes the labels are: the suite's, or the images' own
# What older records have not.
_ADDED: dict[str, Any] = {"defence": None, "batches": None, ALSO: [], CLAIMS: {}}

_NO_TEXT, _ESCAPED = re.compile("[\\\\\ud800-\udfff]"), re.compile(r"\\u([0-9a-f]{4})")
# A sentence of Hardy 0.1.0: "clahe: what it does; bn_adapt:16: what it does".
_SENTENCE = re.compile(r"(?:^|; )([\w.-]+)(?::([\w.-]+))?: ")


def defences_of(text: Field) -> Field:
    """The field that `read_defences` reads; its texts must fit `text`."""

    def is_one(value: Any) -> bool:
        optional = [("setting", None), ("words", "")]
        named = TABLE.fits(value) and value.keys() == {"name", "setting", "words"}
        return named and all(text.fits(one[1]) or one in optional for one in value.items())

    expected = f"a list of defences (name, setting, words), {text.expected} or null"
    return Field(expected, lambda v: v is None or text.fits(v) or all_of(is_one)(v))


def _texts(table: Any) -> bool:
    return TABLE.fits(table) and all(map(TEXT.fits, table.values()))


_FIELDS = {
    **dict.fromkeys(("model", "model_identity", "suite_hash", "recipe", "made"), TEXT),
    **dict.fromkeys(("preprocessing", "precision", "identity"), TEXT),
    "suite": SUITE_NAME,
    "suite_version": WHOLE,
    "seed": or_null(Field("a whole number from 0", lambda value: is_whole(value, least=0))),
    "labels": Field('"suite" or "own"', LABELLED.__contains__),
    "classes": or_null(TEXTS),
    "width": or_null(WHOLE),
    "batches": or_null(TEXT),
    ALSO: TEXTS,
    CLAIMS: Field(
        "names with tables of texts", lambda v: TABLE.fits(v) and all(map(_texts, v.values()))
    ),
    "defence": defences_of(TEXT),
    "frames": Field(
        f"a table of whole numbers, from 1 to {limits.FRAMES.usual:,} ({limits.FRAMES.variable})",
        lambda value: TABLE.fits(value) and all(map(_are_frames, value.values())),
    ),
    "sessions": Field(
        "a list of tables, whose subset, if there is one, says of how many images (of)",
        all_of(lambda value: _is_session(value)),
    ),
}


def _is_session(value: Any) -> bool:
    if not TABLE.fits(value):
        return False
    subset = value.get("subset")
    return subset is None or (TABLE.fits(subset) and is_whole(subset.get("of"), least=0))


def _are_frames(value: Any) -> bool:
    return is_whole(value) and value <= limits.FRAMES.value


def check_store(store: Path) -> None:
    if store.exists() and not store.is_dir():
        raise InputError(f"{store}: expected a folder as store, got a file; name another")


def read_details(folder: Path) -> dict[str, Any] | None:
    check_store(folder.parent)
    path = folder / RUN
    todo = "restore the file, or name another store"
    try:
        details = read_json(path, "JSON", todo)
    except (FileNotFoundError, NotADirectoryError):
        return None
    version = details.get("store") if isinstance(details, dict) else None
    if not is_whole(version) or version not in _READABLE:
        raise InputError(
            f"{path}: expected a store of version {VERSION}, got {version}; read it with the "
            "version of Hardy that made it, or name another store"
        )
    absent = _ADDED | (_SAID if version == VERSION else {})
    wanted = {name: _FIELDS[name] for name in _FIELDS if name in details or name not in absent}
    joined: dict[str, Any] = absent | check_record(details, wanted, path, todo) | {FORMER: []}
    for number, record in enumerate(read_sessions(folder), 1):
        joined = _joined(joined, record)
        check_fields(joined, _FIELDS, f"{folder / SESSIONS}, session {number}", todo)
    return joined


def _joined(details: dict[str, Any], record: SessionRecord) -> dict[str, Any]:
    """What is known of a run, and what one more session says."""
    said = details | {name: record.run[name] for name in record.run.keys() & _FIELDS.keys()}
    if said["model"] != details["model"]:
        said[FORMER] = [*details[FORMER], details["model"]]
    if isinstance(also := record.run.get(ALSO, []), list):
        said[ALSO] = [*details[ALSO], *also]
    if isinstance(said[CLAIMS], dict):
        said[CLAIMS] = _together(details[CLAIMS], said[CLAIMS])
    if isinstance(said["frames"], dict):
        said["frames"] = details["frames"] | said["frames"]
    if isinstance(said["classes"], list | None):
        said["classes"] = max(details["classes"] or [], said["classes"] or [], key=len) or None
    if record.session is not None:
        said["sessions"] = [*details["sessions"], record.session]
    return said


def _together(claims: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    both = [one for one in more if isinstance(more[one], dict) and one in claims]
    return {**claims, **more, **{one: claims[one] | more[one] for one in both}}


def read_defences(said: Any) -> tuple[DefenceFacts, ...]:
    """The defences of a record: tables, or the sentence that Hardy 0.1.0 wrote."""
    if not isinstance(said, str):
        return tuple(DefenceFacts(**one) for one in said or ())
    named = list(_SENTENCE.finditer(said))
    if not named:
        return (DefenceFacts(said, None, ""),)
    ends = [*(match.start() for match in named[1:]), len(said)]
    return tuple(
        DefenceFacts(match[1], match[2], said[match.end() : end])
        for match, end in zip(named, ends, strict=True)
    )


def write_details(folder: Path, details: Mapping[str, Any]) -> None:
    with whole_file(folder / RUN) as file:
        file.write(json.dumps(seal({"store": VERSION, **details}), indent=1).encode())


def read_images(folder: Path) -> tuple[list[int] | list[str], npt.NDArray[np.int32]]:
    """The ids and labels of a run's images."""
    path = folder / IMAGES
    try:
        groups = list(read_groups(path, ["image", "label"]))
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing; the same `hardy eval` makes it again") from error
    table = pa.concat_tables(groups) if groups else None
    if table is None or not len(table) or pc.count_distinct(table["image"]).as_py() < len(table):
        raise damaged(path, "expected images, each once")
    return _plain(table)


def recover_images(folder: Path) -> tuple[list[int] | list[str], npt.NDArray[np.int32]]:
    """Rebuild the list of images from their predictions, where the file of it is damaged."""
    tables = [
        table.group_by("image").aggregate([("label", "max")]).rename_columns(["image", "label"])
        for path in parts_that_count(folder)
        for table in read_groups(path, ["image", "label"])
    ]
    if not tables:
        return [], np.empty(0, np.int32)
    every = pa.concat_tables(tables).group_by("image").aggregate([("label", "max")])
    return _plain(every.rename_columns(["image", "label"]).sort_by("image"))


def _plain(table: pa.Table) -> tuple[list[int] | list[str], npt.NDArray[np.int32]]:
    ids = table["image"].to_pylist()
    if pa.types.is_string(table["image"].type):
        ids = [_restore(id) for id in ids]
    return ids, table["label"].to_numpy()


def write_images(folder: Path, ids: Ids, labels: npt.NDArray[np.int32]) -> None:
    with whole_file(folder / IMAGES) as file:
        pq.write_table(
            pa.table({"image": id_array(ids), "label": labels}),
            file,
            compression="zstd",
            write_page_checksum=True,
        )


def id_array(ids: Ids) -> pa.Array:
    """Ids as files have them: whole numbers, or text."""
    if isinstance(ids[0], int):
        return pa.array(ids, pa.int64())
    return pa.array([_escape(str(id)) for id in ids], pa.string())


def _escape(id: str) -> str:
    """Escape what is no valid text: names of files may hold it, strings in Parquet may not."""
    if not _NO_TEXT.search(id):
        return id
    return _NO_TEXT.sub(lambda found: f"\\u{ord(found[0]):04x}", id)


def _restore(id: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), id) if "\\" in id else id
