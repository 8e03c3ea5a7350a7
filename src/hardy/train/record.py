"""What a training run leaves in its folder.

| file                     | what                                                                  |
|--------------------------|-----------------------------------------------------------------------|
| `run.json`               | method, data, recipe, versions, and which corruptions have been seen  |
| `run.json.old1`, ...     | those of runs that were begun here before, and had saved nothing      |
| `checkpoint.safetensors` | while it trains: weights, momentum, random state, the method's own    |
| `log.csv`, `log.jsonl`   | a line per epoch                                                      |
| `model.safetensors`      | the weights, once it has finished                                     |

The checkpoint is one file, so that its parts always belong together.
"""

from __future__ import annotations

import csv
import errno
import io
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from torch import nn

from hardy.errors import InputError
from hardy.files import begin, lasting, write_file, write_record
from hardy.models.model import Trained
from hardy.models.weights import load_checkpoint
from hardy.schema import (
    TABLE,
    TEXT,
    TEXTS,
    WHOLE,
    Field,
    check_fields,
    expect,
    is_whole,
    or_null,
)
from hardy.suites.checks import is_number
from hardy.train.nets import make_net
from hardy.train.run_folder import remove_unfinished, write_whole
from hardy.train.settings import LARGEST
from hardy.train.training_data import MOST_CLASSES

FORMAT = 1
RUN, MODEL, LOG = "run.json", "model.safetensors", "log.jsonl"
COLUMNS = ("epoch", "loss", "lr", "seconds", "images_per_second")  # of the log
SHOWN = 100  # characters of what is wrong with a log
# What may differ between the sessions of one run. The corruptions seen follow from the method and
# the first weights, which may not; but these may since have left the record that lay beside them.
OF_THE_SESSION = ("versions", "device", "data.images", "note", "seen_corruptions")
OTHER_DATA = {"data.sha256": "the images or labels are not those that it was begun with"}
ANEW = "train anew in another folder"
RECONSTRUCTED = (
    "blur_after_conv is Hardy's reconstruction of BlurAfterConv, for which no code is published: "
    "the size of the filter and which activations are Swish are ours"
)


def open_run(folder: Path, wanted: Mapping[str, Any]) -> None:
    """Begin a run, or make sure that the one in the folder is the same. One that has saved nothing
    yet may be another: it is begun anew, and the record it had stays beside the new one."""
    if wanted["recipe"]["blur_after_conv"]:
        wanted = {**wanted, "note": RECONSTRUCTED}
    if _only_begun(folder):
        wanted = _with_its_mark(read_run(folder), wanted)
        _keep_other(folder / RUN, wanted)
        write_record(folder / RUN, wanted)
    else:
        begin(
            folder / RUN,
            wanted,
            lambda path: read_run(path.parent),
            "a training run",
            of_the_session=OF_THE_SESSION,
            said=OTHER_DATA,
        )
    remove_unfinished(folder)


def _only_begun(folder: Path) -> bool:
    """Whether nothing lies there but the record of a training, those of others that were begun
    before it, and hidden what a kill leaves."""
    shown = {path.name for path in folder.glob("[!.]*") if not path.match(f"{RUN}.old*")}
    return shown == {RUN} and _is_training(read_run(folder))


def _is_training(record: Mapping[str, Any]) -> bool:
    said = {"method": "name", "data": "sha256", "recipe": "net"}
    return all(
        TABLE.fits(record.get(part)) and TEXT.fits(record[part].get(name))
        for part, name in said.items()
    )


def _with_its_mark(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """What has been seen follows from the method and the first weights, and a record of these may
    have gone since."""
    now = json.loads(json.dumps(wanted))
    same = all(before.get(name) == now[name] for name in ("method", "init"))
    if not same or now["init"] is None:
        return wanted
    return {**wanted, "seen_corruptions": before.get("seen_corruptions")}


def _keep_other(path: Path, wanted: Mapping[str, Any]) -> None:
    """Its net may be finished, and have been moved elsewhere."""
    if read_run(path.parent) == json.loads(json.dumps(wanted)):
        return
    places = (path.with_name(f"{RUN}.old{number}") for number in count(1))
    write_file(next(place for place in places if not place.exists()), path.read_bytes())


def read_run(folder: Path) -> dict[str, Any]:
    path = folder / RUN
    try:
        found = json.loads(_text(path))
        form = found["format"]
    except FileNotFoundError:
        raise InputError(
            f"expected a folder that `hardy train` wrote, got {folder}, which has no {RUN}"
        ) from None
    except OSError as error:
        raise InputError(
            f"expected a file that can be read, got {path} ({error.strerror}); name another folder"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({error!r}); {ANEW}") from error
    if form != FORMAT:
        raise InputError(f"{path}: expected format {FORMAT}, got {form!r}; update hardy")
    return found  # type: ignore[no-any-return]


def run_hash(folder: Path) -> str:
    """Of all that makes the run what it is, in whichever session."""
    record = lasting(read_run(folder), OF_THE_SESSION)
    return sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _text(path: Path) -> str:
    """Of a file: who reads a pipe waits for ever."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no file")
    return path.read_text()


def seen_in(folder: Path) -> list[str] | None:
    """The corruptions that the net in a folder has seen; None where nobody says, since any folder
    may have a file of that name."""
    try:
        seen = read_run(folder).get("seen_corruptions")
    except InputError:
        return None
    return seen if TEXTS.fits(seen) else None


def trained_net(folder: Path) -> tuple[nn.Module, dict[str, Any]]:
    """The finished net in a folder, and its `run.json`."""
    run = read_run(folder)
    if not (folder / MODEL).exists():
        raise InputError(
            f"{folder}: its training has not finished; run the same `hardy train` again, which "
            "resumes it"
        )
    _check_run(run, folder / RUN)
    recipe = run["recipe"]
    net = make_net(
        recipe["net"],
        run["data"]["classes"],
        recipe["antialias"],
        recipe["blur_after_conv"],
    )
    load_last(net, folder)
    return net, run


def load_first(net: nn.Module, path: Path) -> None:
    """The weights to start from."""
    same = "start from weights of the same net, made for as many classes as the data has"
    load_checkpoint(net, path, f"{same}, or leave --init out")


def load_last(net: nn.Module, folder: Path) -> None:
    """The weights of a finished run, or it is damaged, and says so."""
    todo = f"bring back the file, or {ANEW}"
    load_checkpoint(net, folder / MODEL, todo, unreadable=todo)


def _is_triple(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(_is_figure, value))


def _is_figure(value: Any) -> bool:
    return is_number(value) and abs(value) <= LARGEST


_PARTS = dict.fromkeys(("recipe", "data", "preprocessing"), TABLE)
_SCHEMA = {"seen_corruptions": or_null(TEXTS), "input": or_null(TEXT)}
_INSIDE = {
    "recipe": {
        "net": TEXT,
        "antialias": WHOLE,
        "blur_after_conv": Field("true or false", lambda value: isinstance(value, bool)),
    },
    "data": {
        "classes": Field(
            f"a whole number from 1 to {MOST_CLASSES:,}",
            lambda value: is_whole(value) and value <= MOST_CLASSES,
        ),
        "names": or_null(TEXTS),
    },
    "preprocessing": dict.fromkeys(("mean", "std"), Field("three numbers", _is_triple)),
}


def _check_run(run: Mapping[str, Any], path: Path) -> None:
    """What a net is made by: the file may have been edited."""
    check_fields(run, _PARTS, str(path), ANEW)
    check_fields(run, _SCHEMA, str(path), ANEW)
    for part, schema in _INSIDE.items():
        check_fields(run[part], schema, f"{path}: {part}", ANEW)
    names, classes = run["data"]["names"], run["data"]["classes"]
    right = names is None or len(names) == classes
    expect(right, f"{classes:,} names of classes", names, f"{path}: data", ANEW)


def trained_as(run: Mapping[str, Any]) -> Trained:
    """For those who compare results: the net, and all that was to make it robust, but for the
    filter of its input, which is told as a defence. Of weights from a file nobody knows."""
    recipe, method = run["recipe"], run.get("method")
    name = method.get("name") if isinstance(method, dict) else None
    if not isinstance(name, str) or run.get("init") is not None:
        return Trained(recipe["net"])
    more = {
        "stylised images": run.get("stylised") is not None,
        f"antialias {recipe['antialias']}": recipe["antialias"] > 1,
        "blur_after_conv": recipe["blur_after_conv"],
    }
    return Trained(recipe["net"], (name, *(one for one, used in more.items() if used)))


def read_log(folder: Path) -> list[dict[str, float]]:
    """That of a finished run."""
    path = folder / LOG
    try:
        return check_log([json.loads(line) for line in _text(path).splitlines()])
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else repr(error)[:SHOWN]
        raise InputError(
            f"the training in {folder} has finished, and its net is whole (hardy:{folder}), but "
            f"its log {path} cannot be read ({why}); bring back the file, or do without"
        ) from error


def check_log(rows: Any) -> list[dict[str, float]]:
    """A row of numbers for each of the epochs 1, 2, ..."""
    for number, row in enumerate(rows if isinstance(rows, list) else [None], start=1):
        whole = isinstance(row, dict) and tuple(row) == COLUMNS
        if not whole or row["epoch"] != number or not all(map(_is_figure, row.values())):
            raise ValueError(f"its log has no numbers of epoch {number}")
    if not rows:
        raise ValueError("its log is empty")
    return rows  # type: ignore[no-any-return]


def write_log(folder: Path, rows: Sequence[Mapping[str, float]]) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    write_whole(folder / LOG, lines.encode())
    table = io.StringIO()
    writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder / "log.csv", table.getvalue().encode())
