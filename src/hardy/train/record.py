"""The record of a training run, `run.json`: what it says, how a run is begun by it, and what is
checked of it when its net is made again."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hardy import schema
from hardy.errors import InputError
from hardy.execute.machine import versions
from hardy.files import begin, lasting, remove_unfinished, write_file, write_record
from hardy.images.damaged import UNREADABLE, unreadable_list
from hardy.locks import BusyFolder, alone_in
from hardy.models.model import hash_files
from hardy.train import METHODS
from hardy.train.hyperparameters import with_additions
from hardy.train.run_folder import ANEW, FORMAT, MODEL, RUN, is_figure, read_run, write_whole
from hardy.train.streaming import Stream
from hardy.train.training_data import MOST_CLASSES, Data, data_record

if TYPE_CHECKING:
    from hardy.train.loop import Training
    from hardy.train.starts import Start

LOCK = ".lock"
INIT_MODEL = "init_model"  # what its net and first weights were named by
Say = Callable[[str], object]
# What may differ between the sessions of one run. The corruptions seen follow from the method and
# the first weights, which may not; but these may since have left the record that lay beside them.
_OF_THE_SESSION = (
    *("versions", "device", "data.images", "data.packed.source", "data.streamed.decoder"),
    *("note", "seen_corruptions", "teacher.model"),  # where a teacher lay
)
_OTHER_DATA = {"data.sha256": "the images or labels are not those that it was begun with"}
_RECONSTRUCTED = (
    "blur_after_conv is Hardy's reconstruction of BlurAfterConv, for which no code is published: "
    "the size of the filter and which activations are Swish are ours"
)


def training_record(
    method: str,
    training: Training,
    init: Path | Start | None,
    stylised: Data | None,
    like: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """What `run.json` will say."""
    data, held_out, (mean, std) = training.data, training.validation, training.preprocessing
    return {
        "format": FORMAT,
        "method": {"name": method, **training.method.described()},
        "seen_corruptions": _seen((*training.method.seen, *training.softened.seen), init),
        "data": data_record(data),
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
        **({} if like is None else {"like": like}),
        **({} if held_out is None else {"validation": held_out.sha256}),
        **({} if training.robust is None else {"robust": training.robust.described}),
        **({} if init is None or isinstance(init, Path) else {INIT_MODEL: init.model}),
        **({"new_head": True} if training.new_head else {}),
        **training.softened.record(),
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


def training_in(folder: Path) -> AbstractContextManager[None]:
    return alone_in(folder, LOCK, "train in", "training in")


def wait_until_free(folder: Path) -> None:
    """Wait for a process that was given up to let go of the folder: it may live a moment longer.
    After a minute it is held to be at work."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            with training_in(folder):
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
    """An older record, with what its method did about settings that have come since too."""
    run = {**run, "recipe": with_additions(run.get("recipe"))}
    method: Any = run.get("method")
    if schema.TABLE.fits(method) and method.get("name") in METHODS:
        every: Any = dataclasses.fields(METHODS[method["name"]])  # type: ignore[arg-type]
        since = {one.name: one.default for one in every if one.default is not dataclasses.MISSING}
        run = {**run, "method": json.loads(json.dumps(since)) | method}
    return run


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
    return isinstance(value, list) and len(value) == 3 and all(map(is_figure, value))


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


def streams_of(training: Training) -> list[Stream]:
    """Those of its images that are read while it trains."""
    return [one for one in (training.data, training.validation) if isinstance(one, Stream)]


def share_unreadable(training: Training) -> None:
    """Each process reads other images: what one could not read, all of them list."""
    for stream in streams_of(training):
        for table in training.ranks.gather_tables(stream.unreadable.found.copy()):
            stream.unreadable.found.update(table)


def write_unreadable(folder: Path, streams: Sequence[Stream]) -> None:
    """List the streamed images that could not be read, where there are any."""
    if lines := unreadable_list(*(one.unreadable for one in streams)):
        write_whole(folder / UNREADABLE, lines)
