"""The folder of a stylised set: class folders, or arrays, with a record of how they were made.

| file                       | what                                                              |
|----------------------------|-------------------------------------------------------------------|
| `stylised.json`            | images, styles, weights, alpha, seed, versions                    |
| `stylised.jsonl`           | a line for each file: of which image, in which style, its SHA-256 |
| `CLASS/NAME.png`           | images that had names, by these                                   |
| `labels.csv`               | their labels, if their folders do not tell them                   |
| `images.npy`, `labels.npy` | images that came as an array; `parts/` until all are made         |
| `.being_made`              | empty; there until all are made: nobody trains on a part          |

Each file is written whole, by rename, and kept if it is as its line says: so a set resumes.
"""

import csv
import io
import os
import shutil
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hardy.documents import check_record, read_json
from hardy.engine.door import UInt8
from hardy.files import UNFINISHED, begin, remove_unfinished, whole_file, write_file
from hardy.images.array_folders import IMAGES, LABELS
from hardy.images.folders import BEING_MADE, numbered_classes
from hardy.images.folders import LABELS as LABELS_CSV
from hardy.images.loading import Batch
from hardy.images.source import Source, number_labels
from hardy.inside import write_inside
from hardy.limits import LISTING
from hardy.schema import WHOLE
from hardy.variants.disk.encode import png
from hardy.variants.file_lines import FileLines, Work

FORMAT = 1
Classes = tuple[str, ...] | None
RECORD, LINES, LOCK = "stylised.json", "stylised.jsonl", ".stylised.lock"
_PARTS = "parts"
_ALL = "all rows"
_OF_THE_SESSION = ("versions", "device", "images")
_SAID = {
    "images_sha256": "the images, their names or labels are others",
    "styles.sha256": "the pictures of styles are others",
    "weights": "the weights of the network are others",
}


class StylisedSet:
    """What all sets do. One file holds `size` images."""

    size: ClassVar[int]

    def __init__(self, folder: Path, source: Source) -> None:
        self.folder, self.source = folder, source

    def begin(self, wanted: dict[str, Any]) -> None:
        begin(
            self.folder / RECORD,
            {"format": FORMAT, **wanted},
            _read_record,
            "a stylised set",
            of_the_session=_OF_THE_SESSION,
            said=_SAID,
        )
        remove_unfinished(self.folder)
        self.lines = FileLines(self.folder, LINES, "hardy stylise")
        self.lines.forget([])  # a line that a kill cut short
        if not self.finished:
            write_file(self.folder / BEING_MADE, b"")

    def digest(self) -> str:
        """SHA-256 of what a resumed set must have alike."""
        digest = sha256("\0".join(self.source.files).encode(errors="surrogateescape"))
        if self.source.labels is not None:
            digest.update(np.ascontiguousarray(self.source.labels).data)
        return digest.hexdigest()

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to look at."""
        return False

    def has(self, batch: Batch) -> bool:
        """Whether the file of these images is there, made of the same pixels."""
        work = self._work(batch)
        line = self.lines.lines.get(work["output"])
        if line is None or not os.path.isfile(self.folder / work["output"]):
            return False
        return self.lines.lists({**work, "styles": line.get("styles")})

    def add(self, batch: Batch, made: Sequence[UInt8], styles: Sequence[str]) -> None:
        work = {**self._work(batch), "styles": list(styles)}
        content = self._encoded(made)
        self.lines.add(work, content)
        write_inside(str(self.folder), work["output"], content, f".stylised{UNFINISHED}")

    def finish(self, unusable: set[int]) -> None:
        """All is made but what could not be used, by its rows."""
        self._complete(unusable)
        (self.folder / BEING_MADE).unlink()

    def _complete(self, unusable: set[int]) -> None:
        raise NotImplementedError

    def _work(self, batch: Batch) -> Work:
        return {
            "source": self._name(batch),
            "source_sha256": sha256(np.ascontiguousarray(batch.images).data).hexdigest(),
            "output": self._output(batch),
        }

    def _name(self, batch: Batch) -> str:
        raise NotImplementedError

    def _output(self, batch: Batch) -> str:
        raise NotImplementedError

    def _encoded(self, made: Sequence[UInt8]) -> bytes:
        raise NotImplementedError


class StylisedFiles(StylisedSet):
    """A PNG for each image, by its name."""

    size = 1

    def _complete(self, unusable: set[int]) -> None:
        """Labels, where the folders do not tell them."""
        if self.source.labels is None:
            return
        rows = [row for row in range(len(self.source)) if row not in unusable]
        files = [_png_name(self.source.files[row]) for row in rows]
        labels, classes = self.source.labels[rows].tolist(), self.source.classes
        if _folders_tell(files, labels, classes):
            return
        words = [str(label) for label in labels]
        if classes is not None and number_labels(classes[label] for label in labels)[1] == classes:
            words = [classes[label] for label in labels]  # which the reader numbers alike
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerows([("file", "label"), *zip(files, words, strict=True)])
        write_file(self.folder / LABELS_CSV, table.getvalue().encode(errors="surrogateescape"))

    def _name(self, batch: Batch) -> str:
        return self.source.files[int(batch.indices[0])]

    def _output(self, batch: Batch) -> str:
        return _png_name(self._name(batch))

    def _encoded(self, made: Sequence[UInt8]) -> bytes:
        return png(made[0])


class StylisedArrays(StylisedSet):
    """One array of all images, as they came, and one of their labels."""

    size = 64

    def digest(self) -> str:
        """Pixels count too: rows have no names by which they could be told apart."""
        digest = sha256(super().digest().encode())
        for row in range(len(self.source)):
            digest.update(np.ascontiguousarray(self.source.read(row)).data)
        return digest.hexdigest()

    @property
    def finished(self) -> bool:
        there = os.path.isfile(self.folder / IMAGES)
        return there and self.lines.lists({"source": _ALL, "output": IMAGES})

    def _complete(self, unusable: set[int]) -> None:
        if self.source.labels is not None:
            file = io.BytesIO()
            np.save(file, self.source.labels)
            write_file(self.folder / LABELS, file.getvalue())
        digest = sha256()
        with whole_file(self.folder / IMAGES) as target:
            for some in self._joined():
                digest.update(some)
                target.write(some)
        self.lines.note({"source": _ALL, "output": IMAGES}, digest.hexdigest())
        shutil.rmtree(self.folder / _PARTS)

    def _joined(self) -> Iterator[bytes]:
        """What an .npy file of all parts has in it."""
        starts = range(0, len(self.source), self.size)
        parts = [self.folder / _part(start) for start in starts]
        first = np.load(parts[0])
        head = io.BytesIO()
        shape = (len(self.source), *first.shape[1:])
        described = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(head, described)
        yield head.getvalue()
        for part in parts:
            yield np.load(part).tobytes()

    def _name(self, batch: Batch) -> str:
        return f"rows {batch.indices[0]} to {batch.indices[-1]}"

    def _output(self, batch: Batch) -> str:
        return _part(int(batch.indices[0]))

    def _encoded(self, made: Sequence[UInt8]) -> bytes:
        file = io.BytesIO()
        np.save(file, np.stack(made))
        return file.getvalue()


def _part(start: int) -> str:
    return f"{_PARTS}/{start:09}.npy"


def _png_name(file: str) -> str:
    head, dot, tail = file.rpartition(".")
    return f"{head if dot and '/' not in tail and head else file}.png"


def _folders_tell(files: Sequence[str], labels: Sequence[int], classes: Classes) -> bool:
    """Whether these files are class folders, whose reader finds just these labels and names."""
    if not all("/" in file for file in files):
        return False
    folders = sorted({file.partition("/")[0] for file in files})
    numbers, names = numbered_classes(folders)
    number = dict(zip(folders, numbers, strict=True))
    told = [number[file.partition("/")[0]] for file in files]
    return told == list(labels) and names == classes


def _read_record(path: Path) -> dict[str, Any]:
    todo = "name another folder"
    return check_record(read_json(path, "JSON", todo, limit=LISTING), {"format": WHOLE}, path, todo)
