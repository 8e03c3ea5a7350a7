"""A training run's folder: what lies in it; its record `run.json` and its log, written and read;
and what a run says as it goes.

| file                     | what                                                                  |
|--------------------------|-----------------------------------------------------------------------|
| `run.json`               | method, data, recipe, versions, and which corruptions have been seen  |
| `run.json.old1`, ...     | those of runs that were begun here before, and had saved nothing      |
| `checkpoint.safetensors` | while it trains: weights, momentum, random state, the method's own    |
| `log.csv`, `log.jsonl`   | a line per epoch                                                      |
| `model.safetensors`      | the weights, once it has finished                                     |
| `unreadable.txt`         | streamed images that could not be read, and were left out             |

The checkpoint is one file, so that its parts always belong together.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hardy import schema
from hardy.documents import check_record, parse_json, read_document, read_json
from hardy.errors import InputError
from hardy.execute.machine import versions
from hardy.files import (
    BusyFolder,
    begin,
    hold,
    lasting,
    let_go,
    remove_unfinished,
    write_file,
    write_record,
)
from hardy.models.model import hash_files
from hardy.train.hyperparameters import ADDED, LARGEST_FLOAT, Hyperparameters
from hardy.train.streaming import Stream
from hardy.train.training_data import MOST_CLASSES, Data

if TYPE_CHECKING:
    from hardy.train.loop import Training
    from hardy.train.starts import Start

FORMAT = 1
RUN, MODEL = "run.json", "model.safetensors"
CHECKPOINT, LOG = "checkpoint.safetensors", "log.jsonl"
UNREADABLE = "unreadable.txt"
LOCK = ".lock"
INIT_MODEL = "init_model"  # what its net and first weights were named by
Log = list[dict[str, float]]  # a row for each epoch
Say = Callable[[str], object]
LOG_COLUMNS = ("epoch", "loss", "lr", "seconds", "images_per_second")  # of the log
VALIDATED = "validation_accuracy"  # a share of 1; the last column where images are held out
SHOWN = 100  # characters of what is wrong with a log
# What may differ between the sessions of one run. The corruptions seen follow from the method and
# the first weights, which may not; but these may since have left the record that lay beside them.
_OF_THE_SESSION = (
    *("versions", "device", "data.images", "data.streamed.decoder", "note", "seen_corruptions"),
)
_OTHER_DATA = {"data.sha256": "the images or labels are not those that it was begun with"}
ANEW = "train anew in another folder"
_RECONSTRUCTED = (
    "blur_after_conv is Hardy's reconstruction of BlurAfterConv, for which no code is published: "
    "the size of the filter and which activations are Swish are ours"
)


def training_record(
    method: str, training: Training, init: Path | Start | None, stylised: Data | None
) -> dict[str, Any]:
    """What `run.json` will say."""
    data, (mean, std) = training.data, training.preprocessing
    held_out = training.validation
    return {
        "format": FORMAT,
        "method": {"name": method, **training.method.described()},
        "seen_corruptions": _seen(training.method.seen, init),
        "data": {
            "images": data.described,
            "shape": data.shape,
            "classes": data.classes,
            "names": data.names,
            "sha256": data.sha256,
            **({"held_out": data.held_out} if isinstance(data, Data) and data.held_out else {}),
            **({"streamed": data.record()} if isinstance(data, Stream) else {}),
        },
        "input": data.input,
        "stylised": None if stylised is None else stylised.sha256,
        "recipe": asdict(training.hyper),
        "init": hash_files([init]) if isinstance(init, Path) else init and init.sha256,
        "processes": training.ranks.world,
        # A GPU adds up alike however many of the host's threads feed it.
        "threads": torch.get_num_threads() if training.device.type == "cpu" else None,
        "preprocessing": {"mean": mean, "std": std},
        "versions": versions(("numpy", "torch", "safetensors")),
        "device": device_name(training.device),
        **({} if held_out is None else {"validation": held_out.sha256}),
        **({} if init is None or isinstance(init, Path) else {INIT_MODEL: init.model}),
        **({"new_head": True} if training.new_head else {}),
    }


def _seen(shown: tuple[str, ...], init: Path | Start | None) -> tuple[str, ...] | None:
    """The corruptions seen, as far as is known: those of the first weights, then the method's. None
    where nobody says what the first weights had seen and the method adds nothing."""
    before = () if init is None else seen_before(init)
    known = tuple(dict.fromkeys((*(before or ()), *shown)))
    return None if before is None and not known else known


def seen_before(init: Path | Start) -> Sequence[str] | None:
    """The corruptions that the first weights were trained on, from the run.json beside them, links
    resolved; None if there is none. A model that was named says so itself."""
    if not isinstance(init, Path):
        return init.seen
    real = init.resolve()
    return seen_in(real.parent) if real.name == MODEL else None


def device_name(device: torch.device) -> str:
    return str(torch.cuda.get_device_name(device) if device.type == "cuda" else device.type)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for this process alone."""
    busy = f"another process is training in {folder}; wait for it, or name another folder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = hold(folder / LOCK, busy)
    except OSError as error:
        raise InputError(
            f"expected a folder to train in, got {folder} ({error.strerror}); name another"
        ) from error
    try:
        yield
    finally:
        let_go(held)


def wait_until_free(folder: Path) -> None:
    """Wait for a process that was given up to let go of the folder: it may live a moment longer.
    After a minute it is held to be at work."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            with alone_in(folder):
                return
        except BusyFolder:
            time.sleep(1)


def begin_run(folder: Path, wanted: Mapping[str, Any], say: Say = lambda line: None) -> None:
    """Begin a run, or make sure that the one in the folder is the same. One that has saved nothing
    yet may be another: it is begun anew, and the record it had stays beside the new one."""
    if wanted["recipe"]["blur_after_conv"]:
        wanted = {**wanted, "note": _RECONSTRUCTED}
    path = folder / RUN
    if _only_begun(folder):
        before = read_run(folder)
        wanted = _with_its_mark(before, wanted)
        if before != json.loads(json.dumps(wanted)):  # whose finished net may have been moved away
            places = (path.with_name(f"{RUN}.old{number}") for number in count(1))
            write_file(next(place for place in places if not place.exists()), path.read_bytes())
        write_record(path, wanted)
    else:
        of_the_session: tuple[str, ...] = _OF_THE_SESSION
        deterministic = wanted["recipe"].get("deterministic")
        unsaid = path.exists() and "threads" not in read_run(folder)
        if unsaid and deterministic and wanted.get("threads"):
            say(
                f"note: {path} does not say with how many threads it was begun; the weights are "
                f"the same each time only if it was with {wanted['threads']}"
            )
        if unsaid or not deterministic:
            of_the_session = (*of_the_session, "threads")
        begin(
            path,
            wanted,
            lambda path: _with_additions(read_run(path.parent)),
            "a training run",
            of_the_session=of_the_session,
            said=_OTHER_DATA,
        )
    remove_unfinished(folder)


def _with_additions(run: dict[str, Any]) -> dict[str, Any]:
    """An older record, with what its loop did about options that have come since: nothing."""
    if not schema.TABLE.fits(run.get("recipe")):
        return run
    usual = asdict(Hyperparameters())
    return {**run, "recipe": {name: usual[name] for name in ADDED} | run["recipe"]}


def _only_begun(folder: Path) -> bool:
    """Whether the folder has only records of trainings that saved nothing."""
    shown = {path.name for path in folder.glob("[!.]*") if not path.match(f"{RUN}.old*")}
    said = {"method": "name", "data": "sha256", "recipe": "net"}
    record = read_run(folder) if shown == {RUN} else {}
    return all(
        schema.TABLE.fits(record.get(part)) and schema.TEXT.fits(record[part].get(name))
        for part, name in said.items()
    )


def _with_its_mark(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record with the corruptions that it named before: the record beside the first weights,
    from which they follow, may have gone since."""
    now = json.loads(json.dumps(wanted))
    same = all(before.get(name) == now[name] for name in ("method", "init"))
    if not same or now["init"] is None:
        return wanted
    return {**wanted, "seen_corruptions": before.get("seen_corruptions")}


def read_run(folder: Path) -> dict[str, Any]:
    path = folder / RUN
    try:
        found = read_json(path, "JSON", ANEW)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"expected a folder that `hardy train` wrote, got {folder}, which has no {RUN}"
        ) from None
    if schema.TABLE.fits(found) and found.get("format", FORMAT) != FORMAT:
        got = schema.brief(found["format"])
        raise InputError(f"{path}: expected format {FORMAT}, got {got}; update hardy")
    return check_record(found, {"format": schema.WHOLE}, path, ANEW)


def run_hash(folder: Path) -> str:
    """A hash of all that makes the run what it is, the same in each of its sessions."""
    record = lasting(read_run(folder), _OF_THE_SESSION)
    return sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def seen_in(folder: Path) -> list[str] | None:
    """The corruptions that the net in a folder has seen; None where nobody says, since any folder
    may have a file of that name."""
    try:
        seen = read_run(folder).get("seen_corruptions")
    except InputError:
        return None
    return seen if schema.TEXTS.fits(seen) else None


def _is_triple(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(_is_figure, value))


def _is_figure(value: Any) -> bool:
    return schema.is_number(value) and abs(value) <= LARGEST_FLOAT


_PARTS = dict.fromkeys(("recipe", "data", "preprocessing"), schema.TABLE)
_SCHEMA = {"seen_corruptions": schema.or_null(schema.TEXTS), "input": schema.or_null(schema.TEXT)}
_INSIDE = {
    "recipe": {"net": schema.TEXT, "antialias": schema.WHOLE, "blur_after_conv": schema.FLAG},
    "data": {
        "classes": schema.Field(
            f"a whole number from 1 to {MOST_CLASSES:,}",
            lambda value: schema.is_whole(value) and value <= MOST_CLASSES,
        ),
        "names": schema.or_null(schema.TEXTS),
        "images": schema.TEXT,
    },
    "preprocessing": dict.fromkeys(("mean", "std"), schema.Field("three numbers", _is_triple)),
}


def check_run(run: Mapping[str, Any], path: Path) -> None:
    """Check what a net is made by, since the file may have been edited."""
    schema.check_fields(run, _PARTS | _SCHEMA, str(path), ANEW)
    for part, fields in _INSIDE.items():
        schema.check_fields(run[part], fields, f"{path}: {part}", ANEW)
    names, classes = run["data"]["names"], run["data"]["classes"]
    right = names is None or len(names) == classes
    schema.expect(right, f"{classes:,} names of classes", names, f"{path}: data", ANEW)


def read_log(folder: Path) -> Log:
    """The log of a finished run."""
    path = folder / LOG
    try:
        lines = read_document(path).decode("utf-8").splitlines()
        return check_log([parse_json(line) for line in lines])
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else repr(error)[:SHOWN]
        raise InputError(
            f"the training in {folder} has finished, and its net is whole (hardy:{folder}), but "
            f"its log {path} cannot be read ({why}); bring back the file, or do without"
        ) from error


def check_log(rows: Any) -> Log:
    """Check that the log has a row of numbers for each of the epochs 1, 2, ..."""
    for number, row in enumerate(rows if isinstance(rows, list) else [None], start=1):
        whole = isinstance(row, dict) and tuple(row) in (LOG_COLUMNS, (*LOG_COLUMNS, VALIDATED))
        if not whole or row["epoch"] != number or not all(map(_is_figure, row.values())):
            raise ValueError(f"its log has no numbers of epoch {number}")
    if not rows:
        raise ValueError("its log is empty")
    return rows  # type: ignore[no-any-return]


def write_log(folder: Path, rows: Sequence[Mapping[str, float]]) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    write_whole(folder / LOG, lines.encode())
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder / "log.csv", table.getvalue().encode())


def streams_of(training: Training) -> list[Stream]:
    """Those of its images that are read while it trains."""
    return [one for one in (training.data, training.validation) if isinstance(one, Stream)]


def write_unreadable(folder: Path, streams: Sequence[Stream]) -> None:
    """List the streamed images that could not be read, where there are any."""
    lines = sorted(line for one in streams for line in one.unreadable.found.copy().values())
    if lines:
        write_whole(folder / UNREADABLE, "".join(f"{line}\n" for line in lines).encode())


def write_whole(target: Path, content: bytes) -> None:
    if (target.parent / CHECKPOINT).exists():
        todo = "what was saved before is kept, and the same command resumes from there"
    else:
        todo = "nothing had been saved; make room, and the same command trains from the beginning"
    write_file(target, content, todo)
