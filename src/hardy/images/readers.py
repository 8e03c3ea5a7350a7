"""`open_images`: one door for every kind of source, recognised by what it holds."""

import glob
import os
from pathlib import Path

from hardy.errors import InputError
from hardy.images import cifar, datasets, folders, numpy_files, parquet, tars
from hardy.images.image_files import SUFFIXES
from hardy.images.source import Faults, Source, check_faults, check_id_rule

KINDS = "class folders, a folder of images, .npy or .npz, the files of CIFAR, tar shards or Parquet"
SPLITS = ("train", "test")


def open_images(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    id_rule: str | None = None,
    faults: Faults = None,
) -> Source:
    """The images at `path`, listed but not yet decoded.

    | path                                   | labels                                             |
    |----------------------------------------|----------------------------------------------------|
    | a folder of class folders              | the folders, sorted by name                        |
    | a folder of images                     | `labels`, or labels.csv in it: lines of file,label |
    | `images.npy`, uint8 (N, H, W, 3)       | `labels`: .npy, or text with a label per line      |
    | `set.npz` with `images`                | `labels` in it, or as above                        |
    | the folder of CIFAR-10 or -100, or one | in the files                                       |
    | of its files; `folder:test`            |                                                    |
    | `shard.tar`, a folder of them, or      | `key.cls` beside `key.jpg`                         |
    | a pattern, `shards/val-*.tar`          |                                                    |
    | `set.parquet`, a folder, a pattern     | a column `label`                                   |
    | `cifar10:test`, `cifar10:train`        | brought by `hardy fetch cifar10`                   |

    `id_rule` is that of the suite; left out, images with file names have their path without the
    suffix as id, others their row. Things that cannot be used are raised, or, given a list
    `faults`, are put there and left out.
    """
    text = _text(path, f"the path of {KINDS}")
    if id_rule is not None:
        check_id_rule(id_rule)
    check_faults(faults)
    where, split = _split(text)
    extra = None if labels is None else Path(_text(labels, "the path of a file of labels"))
    if not os.path.lexists(where):
        if where in datasets.NAMES:
            _no_labels(extra, text)
            return datasets.open_dataset(where, split, id_rule or "row_index")
        matched = sorted(map(Path, glob.glob(where)))
        if not matched:
            raise InputError(f"there is no {text}: expected {KINDS}, or a name as cifar10:test")
        _no_labels(extra, text)
        _no_split(split, where)
        return _files(matched, text, id_rule, faults)
    place = Path(where)
    if place.is_dir():
        return _folder(place, split, extra, id_rule, faults)
    if not place.is_file():
        raise InputError(f"{place} is neither a file nor a folder; expected {KINDS}")
    _no_split(split, where)
    return _file(place, extra, id_rule, faults)


def _text(path: str | os.PathLike[str], expected: str) -> str:
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or "\0" in text:
        raise InputError(f"expected {expected}, got {path!r}")
    return text


def _split(text: str) -> tuple[str, str | None]:
    head, colon, tail = text.rpartition(":")
    if colon and tail in SPLITS and not os.path.lexists(text):
        return head, tail
    return text, None


def _folder(
    folder: Path, split: str | None, labels: Path | None, id_rule: str | None, faults: Faults
) -> Source:
    layout = cifar.find_cifar(folder)
    if layout is not None:
        _no_labels(labels, str(folder))
        return cifar.open_cifar(folder, layout, split, id_rule or "row_index")
    _no_split(split, str(folder))
    rule = id_rule or "relative_path"
    if labels is None and (folder / folders.LABELS).is_file():
        labels = folder / folders.LABELS
    if labels is not None:
        return folders.flat_folder(folder, labels, rule, faults)
    top = folders.scan(os.fspath(folder), faults)
    if top.folders:
        return folders.class_folders(folder, top, rule, faults)
    if not top.images:
        packed = [folder / name for name in top.others if name.endswith((".tar", ".parquet"))]
        if packed:
            return _files(packed, str(folder), id_rule, faults)
    return folders.flat_folder(folder, None, rule, faults)


def _file(path: Path, labels: Path | None, id_rule: str | None, faults: Faults) -> Source:
    try:
        with path.open("rb") as stream:
            start = stream.read(512)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error}") from error
    rows = id_rule or "row_index"
    if start.startswith(numpy_files.NPY_MAGIC):
        return numpy_files.open_npy(path, labels, rows)
    if start.startswith(b"PK\x03\x04"):
        return numpy_files.open_npz(path, labels, rows)
    _no_labels(labels, str(path))
    if start.startswith(parquet.MAGIC) or path.suffix in (".tar", ".parquet"):
        return _files([path], str(path), id_rule, faults)
    layout = cifar.find_cifar_file(path)
    if layout is not None:
        return cifar.open_cifar_files([path], path, layout, rows)
    got = "an image" if path.suffix.lower() in SUFFIXES else "another file"
    raise InputError(f"{path}: expected {KINDS}, got {got}; name the folder it is in, or unpack it")


def _files(paths: list[Path], where: str, id_rule: str | None, faults: Faults) -> Source:
    """Shards of one kind."""
    kinds = {path.suffix for path in paths}
    if kinds == {".tar"}:
        return tars.open_tars(paths, where, id_rule or "relative_path", faults)
    if kinds == {".parquet"}:
        return parquet.open_parquets(paths, where, id_rule, faults)
    raise InputError(
        f"{where}: expected .tar or .parquet files, and not both, got {', '.join(sorted(kinds))}"
    )


def _no_labels(labels: Path | None, where: str) -> None:
    if labels is not None:
        raise InputError(f"{where} brings its own labels; leave {labels} out")


def _no_split(split: str | None, where: str) -> None:
    if split is not None:
        raise InputError(
            f"{where}:{split}: only the folders of CIFAR have splits; leave :{split} out, or name "
            "the folder or file that holds it"
        )
