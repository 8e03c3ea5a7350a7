"""Files of labels for a folder of images, as people have them.

| what                                  | what it says                                             |
|---------------------------------------|----------------------------------------------------------|
| CSV, tabs, or two words with a space  | file,label; the file with or without folder and suffix   |
| Kaggle's LOC_val_solution.csv         | the first WordNet name of each row                       |
| a label map: JSON, or CSV as above    | class folder -> class number or name                     |
| one label per line                    | in the order of the files, or of ILSVRC2012_val_00000001 |

Lines of numbers with a 0 among them are class numbers. ILSVRC's ground truth counts from 1, in an
order of its own (`ILSVRC2012_ID`), which is not the sorted one of models; only a map beside it can
tell: the development kit's meta.mat or map_clsloc.txt, or a label_map of one's own.
"""

import csv
import io
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hardy.documents import parse_json, read_document
from hardy.errors import InputError, printable
from hardy.images.image_files import SUFFIXES
from hardy.images.labels import imagenet_classes
from hardy.images.source import UNLABELLED, Faults, refuse, stem
from hardy.limits import LISTING

# What a first line may call the two columns, in this order of choice, in any case, with or without
# "_". An id comes last: it may be a number beside the name.
FILE_COLUMNS = (
    *("file", "filename", "path", "filepath", "image", "imagename", "imagepath", "img", "imageid"),
    *("name", "id"),
)
LABEL_COLUMNS = (
    *("label", "class", "classname", "labelname", "category", "categoryname", "target"),
    *("labelid", "classid", "categoryid", "predictionstring"),
)
_BOXES = re.compile(r"(n[0-9]{8})( -?[0-9]+){4}\b")  # Kaggle's: a class and its box, and more such
_WORDNET_NUMBER = re.compile(r"^(n[0-9]{8})[ \t,]+([0-9]+)\b", re.MULTILINE)
MAPS = ("meta.mat", "map_clsloc.txt", "label_map.csv", "label_map.txt", "label_map.json")


def read_file_labels(
    path: Path, files: Sequence[str], root: Path, faults: Faults
) -> dict[str, str]:
    """File -> label, for those of the files that have one; an empty one was refused here."""
    text = _read_text(path, "a CSV file of lines file,label")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and not any(_has_more(line) for line in lines):
        return _by_line(path, lines, files)
    known = {key for file in files for key in (file, *_short(file), _folder(file))}
    named = _read_named(path, text, known, faults)
    found = {}
    for file, key in _choose_keys(path, named, files, root).items():
        if key is None:
            reason = f"{root / file} has no label in {path}; add a line for it"
            refuse(faults, reason, kind=UNLABELLED)
        else:
            found[file] = named[key]
    if files and not found:
        raise InputError(
            f"{path}: expected names of files in {root}, such as {files[0]}, got others, such as "
            f"{next(iter(named), 'none')}"
        )
    return found


def _choose_keys(
    path: Path, named: Mapping[str, str], files: Sequence[str], root: Path
) -> dict[str, str | None]:
    """File -> the name by which it has its label: one of its own, or that of its class folder.

    A list of a whole data set, and a map, may well name more than is here.
    """
    folders = {_folder(file) for file in files} - {""}
    every_folder = all(_folder(file) in named for file in files)
    every_file = all(any(key in named for key in (file, *_short(file))) for file in files)
    is_map, is_list = every_folder and not every_file, every_file and not every_folder
    fitting = Counter(key for file in files for key in set(_short(file)))
    chosen: dict[str, str | None] = {}
    for file in files:
        folder = _folder(file)
        keys = [key for key in (file, *_short(file), folder) if key in named]
        if is_map:
            keys = [key for key in keys if key == folder or key not in folders]
        chosen[file] = key = keys[0] if keys else None
        if key is None or key in (file, folder):
            continue
        todo = f"write folder and suffix too, such as {file},{named[key]}"
        if fitting[key] > 1:
            raise InputError(
                f"{path}: expected a name of one file, got {key}, which fits {fitting[key]:,} "
                f"files in {root}; {todo}"
            )
        if key in folders and not is_list and named.get(folder) != named[key]:
            raise InputError(
                f"{path}: expected a name of a file or of a class folder, got {key}, which in "
                f"{root} is both; if the file is meant, {todo}"
            )
    return chosen


def _folder(file: str) -> str:
    """Its class folder; empty where it lies in none."""
    return file.partition("/")[0] if "/" in file else ""


def _short(file: str) -> tuple[str, str]:
    """Its name without the folder, and without the suffix either."""
    return file.rpartition("/")[2], stem(file)


def _has_more(line: str) -> bool:
    """Whether there is more in it than a label."""
    return bool(re.search(r"[\s,{\[]", line)) or line.lower().endswith(SUFFIXES)


def _by_line(path: Path, lines: list[str], files: Sequence[str]) -> dict[str, str]:
    if all(map(str.isdecimal, lines)) and 0 not in map(int, lines):
        lines = _translated(path, lines)
    official = [re.fullmatch(r"ILSVRC2012_val_([0-9]{8})", stem(file)) for file in files]
    places = [int(match[1]) - 1 for match in official if match]
    if len(places) == len(files) and all(0 <= place < len(lines) for place in places):
        return {file: lines[place] for file, place in zip(files, places, strict=True)}
    if len(lines) != len(files) or any("/" in file for file in files):
        raise InputError(
            f"{path}: expected one label per line for {len(files):,} images in one folder, sorted "
            f"by name, or for ILSVRC2012_val_00000001 and so on, got {len(lines):,} lines; write "
            "file,label into each line"
        )
    return dict(zip(files, lines, strict=True))


def _translated(path: Path, lines: list[str]) -> list[str]:
    where = next((place for name in MAPS if (place := path.with_name(name)).is_file()), None)
    if where is None:
        raise InputError(
            f"{path} numbers classes from 1. ILSVRC's order is its own, while models sort them by "
            "WordNet name: put the development kit's meta.mat or map_clsloc.txt beside it, or a "
            "label_map.csv with a line for each number, such as 1,n02119789"
        )
    classes = _read_map(where)
    if absent := sorted(set(lines) - classes.keys()):
        raise InputError(f"{where} has no class for the label {absent[0]} of {path}; add it")
    return [classes[line] for line in lines]


def _read_named(path: Path, text: str, known: set[str], faults: Faults) -> dict[str, str]:
    """Name -> label."""
    named = _read_json(path, text) if path.suffix == ".json" else None
    _check_wordnet_numbers(path, named or dict(_WORDNET_NUMBER.findall(text)))
    return _read_csv(path, text, known, faults) if named is None else named


def _check_wordnet_numbers(path: Path, numbers: Mapping[str, str]) -> None:
    """Refuse ILSVRC's numbers for classes that tell theirs by their name: map_clsloc.txt."""
    order = {name: str(number) for number, name in enumerate(imagenet_classes())}
    other = [name for name, number in numbers.items() if order.get(name, number) != number]
    # With a 0 among them they are somebody's own numbers.
    if other and "0" not in numbers.values():
        name = other[0]
        raise InputError(
            f"{path} has the number {numbers[name]} for {name}, as ILSVRC's own order may, which "
            f"is {order[name]} in the order of models; class folders with WordNet names need no "
            "`labels`: leave them out, or write numbers from 0"
        )


def _read_text(path: Path, expected: str) -> str:
    try:
        return read_document(path, LISTING).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: expected {expected} ({error})") from error


def _read_map(path: Path) -> dict[str, str]:
    """Number -> class; a line may also have the class first, as in `n02119789 1 kit_fox`."""
    if path.suffix == ".mat":
        return _read_meta(path)
    text = _read_text(path, "number,class in each line")
    if path.suffix == ".json":
        return _read_json(path, text)
    pairs = [line.replace(",", " ").split()[:2] for line in text.splitlines() if line.strip()]
    if bad := next((pair for pair in pairs if len(pair) < 2), None):
        raise InputError(f"{path}: expected number,class in each line, got {bad}")
    return dict((b, a) if b.isdecimal() and not a.isdecimal() else (a, b) for a, b in pairs)


# Reads what is used of a file of MATLAB, and prints it.
_META = """
import json, sys
from scipy.io import loadmat
synsets = loadmat(sys.argv[1], squeeze_me=True)["synsets"]
print(json.dumps({str(row["ILSVRC2012_ID"]): str(row["WNID"]) for row in synsets}))
"""


def _read_meta(path: Path) -> dict[str, str]:
    """Number -> class, read in a process of its own: scipy dies over some damaged files."""
    command = [sys.executable, "-I", "-c", _META, str(path.absolute())]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        why = lines[-1][:200] if lines else f"it ended with {done.returncode}"
        raise InputError(
            f"cannot read {path}: expected the meta.mat of ILSVRC's development kit, which scipy "
            f"reads ({printable(why)}); or put a label_map.csv in its place, such as 1,n02119789"
        )
    found: dict[str, str] = parse_json(done.stdout)
    return found


def _read_json(path: Path, text: str) -> dict[str, str]:
    """An object; a class may stand first in a list, as in {"0": ["n01440764", "tench"]}."""
    try:
        found = parse_json(text)
    except ValueError as error:
        raise InputError(f"cannot read {path}: expected JSON ({error})") from error
    pairs = {key: _first(value) for key, value in found.items()} if type(found) is dict else {}
    if not pairs or not all(type(value) in (int, str) for value in pairs.values()):
        raise InputError(f'{path}: expected names and their classes, {{"tench": 0, …}}')
    return {key: str(value) for key, value in pairs.items()}


def _first(value: Any) -> Any:
    return value[0] if type(value) is list and value else value


def _read_csv(path: Path, text: str, known: set[str], faults: Faults) -> dict[str, str]:
    """Name -> label, from the first two columns or those that a first line names."""
    named: dict[str, str] = {}
    columns = (0, 1)
    first = text.partition("\n")[0]
    commas, tabs = "," in first, "\t" in first
    reader = csv.reader(io.StringIO(text)) if commas else map(_words, text.splitlines())
    try:
        rows = list(reader)
        for number, row in enumerate(rows, 1):
            header = _header(rows, path, known) if number == 1 else None
            if header is not None:
                columns = header
                continue
            if not row:
                continue
            if len(row) <= max(columns) or (len(row) > 2 and not commas and not tabs):
                raise InputError(f"{path}, line {number}: expected file,label, got {row}")
            file, label = (row[column].strip() for column in columns)
            boxed = _BOXES.match(label)
            label = boxed[1] if boxed else label
            if not file or not label:
                refuse(faults, f"{path}, line {number}: expected file,label, got {row}")
            if file and named.setdefault(file, label) != label:
                raise InputError(f"{path}, line {number}: a second label for {file}")
    except csv.Error as error:
        raise InputError(
            f"cannot read {path}: expected a CSV file of lines file,label ({error})"
        ) from error
    return named


def _words(line: str) -> list[str]:
    """A line that has no commas: tabs are between its columns, or else spaces."""
    return line.split("\t") if "\t" in line else line.split()


def _header(rows: list[list[str]], path: Path, known: set[str]) -> tuple[int, int] | None:
    """Where the files and the labels stand, if the first line says so."""
    row = rows[0]
    names = [name.strip().lower().replace("_", "") for name in row]
    file = next((names.index(name) for name in FILE_COLUMNS if name in names), None)
    label = next((names.index(name) for name in LABEL_COLUMNS if name in names), None)
    if file is not None and label is not None:
        for column in (file, label):
            if names.count(names[column]) > 1:
                raise InputError(
                    f"{path}, line 1: expected one column {row[column].strip()}, got "
                    f"{names.count(names[column])} in {row}; rename or remove all but one"
                )
        return file, label
    if not row or row[0] in known or any(name.endswith(SUFFIXES) for name in names):
        return None
    # It may name a class that is not here. Of more than two columns it may name, in words of its
    # own, another one for the labels.
    if len(row) > 2 or not any(other and other[0].strip() in known for other in rows):
        raise InputError(
            f"{path}, line 1: expected an image file and its label, or the columns' names, "
            f"file,label, got {row}; the file may also be called {', '.join(FILE_COLUMNS[1:])}, "
            f"and its label {', '.join(LABEL_COLUMNS[1:])}"
        )
    return None
