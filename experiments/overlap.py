"""`python -m experiments.overlap`: what `hardy overlap` measured on CIFAR-10, kept and as a page.

    keep DIR FILE    what the page needs of a finished overlap, in about a megabyte
    page FILE        the results from it: CSV, JSON, pictures, a suite and README.md

The file says which model was right on which image, so that all intervals can be drawn again.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from experiments.overlap_page import (
    LATER,
    NAMED,
    PUBLISHED,
    SUITE,
    THRESHOLD,
    figures,
    page,
    published,
)
from hardy.design.accuracy import from_counts
from hardy.design.designed_suite import write_suite
from hardy.design.heat_map import Heat, category_map, draw_heat, heat_map
from hardy.design.independent_sets import select_independent
from hardy.design.proxy import DAMAGED, LEAST, Features, check_features
from hardy.design.results import MODELS, MeasuredOverlap, read_measured, write_overlap
from hardy.errors import HardyError, InputError, printable
from hardy.files import whole_file
from hardy.metrics import Resampling
from hardy.metrics.classification import Floats
from hardy.schema import TEXT, Field, check_fields, is_whole
from hardy.suites import load
from hardy.suites.cells import NONE
from hardy.train.run_folder import read_log

FORMAT = 1


def _table(names: str) -> Field:
    wanted = set(names.split(", "))
    return Field(
        f"a table with {names}", lambda value: isinstance(value, dict) and wanted <= value.keys()
    )


def _are_seconds(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, int | float) for one in value.values())


OF_RECIPE = "net, epochs, batch, momentum, weight_decay, lr, schedule, precision, seed"
# What the page says of the experiment's record.
TOLD = {
    **dict.fromkeys(("suite", "device", "data", "test"), TEXT),
    "recipe": _table(OF_RECIPE),
    "versions": _table("torch, numpy"),
    "training_seconds": Field("a table of seconds", _are_seconds),
}


def write_kept(path: Path, measured: MeasuredOverlap) -> None:
    """Counts of severities go as bits, one for each severity: right at more than 0, 1, ..."""
    experiment, collected, features = measured
    correct, how = collected.correct, collected.how
    above = correct[..., None] > np.arange(int(collected.severities.max()))
    strata = np.zeros(0, np.int64) if how.strata is None else how.strata
    about = {
        "kept": FORMAT,
        "experiment": dict(experiment),
        "replicates": how.replicates,
        "seed": how.seed,
    }
    held: dict[str, Any] = {
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
        "correct": np.packbits(above),
        "shape": np.array(above.shape),
        "severities": collected.severities,
        "strata": strata.astype(np.min_scalar_type(int(strata.max(initial=0)))),
        **features._asdict(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        np.savez_compressed(file, **held)


def read_kept(path: Path) -> MeasuredOverlap:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            held = dict(arrays)
        about = json.loads(held["about"].tobytes())
        if about["kept"] != FORMAT:
            raise ValueError(f"format {about['kept']}")
        shape = held["shape"]
        if (shape < 1).any():
            raise ValueError(f"shape {shape.tolist()}")
        bits = np.unpackbits(held["correct"], count=int(shape.prod())).reshape(shape)
        names = tuple(map(str, held["names"]))
        features = Features(names, held["shifts"], held["sizes"], held["products"])
        check_features(features)
        counts, severities = bits.sum(axis=3, dtype=np.uint8), held["severities"]
        _check_counts(counts, severities, len(names))
        strata = held["strata"].astype(np.int64)
        if strata.shape not in ((0,), counts.shape[:1]):
            raise ValueError(f"a class for each of {len(counts):,} images")
        how = Resampling(about["replicates"], about["seed"], strata if len(strata) else None)
        if not (is_whole(how.replicates) and is_whole(how.seed, 0)):
            raise ValueError("replicates and a seed as whole numbers")
        experiment = dict(about["experiment"])
        collected = from_counts(names, counts, severities, how)
    except (*DAMAGED, RecursionError) as error:
        raise InputError(
            f"{path}: expected what `experiments.overlap keep` writes ({error})"
        ) from error
    return MeasuredOverlap(experiment, collected, features)


def _check_counts(counts: npt.NDArray[np.uint8], severities: Floats, corruptions: int) -> None:
    side = corruptions + 1
    if not len(counts) or counts.shape[1:] != (side, side) or severities.shape != (side,):
        raise ValueError(f"images, models and severities of {corruptions} corruptions")
    if severities.dtype.kind not in "iu" or (severities < 1).any() or (counts > severities).any():
        raise ValueError("severities as whole numbers, and none right more often")


def keep(folder: Path, target: Path, **said: str | None) -> None:
    """`said` is what the record does not know, or says in words of the machine: where its images
    lay."""
    measured = read_measured(folder)
    names = (NONE, *measured.collected.accuracy.names)
    seconds = {
        name: round(sum(row["seconds"] for row in read_log(folder / MODELS / name)), 3)
        for name in names
    }
    more = {key: text for key, text in said.items() if text is not None}
    experiment = {**measured.experiment, "training_seconds": seconds, **more}
    write_kept(target, measured._replace(experiment=experiment))


def write(measured: MeasuredOverlap, out: Path) -> None:
    """Everything; pictures last, which need Matplotlib."""
    todo = "keep a finished overlap again"
    check_fields(measured.experiment, TOLD, "the experiment that was kept", todo)
    suite = measured.experiment["suite"]
    load(suite)  # a name that it does not know is refused before anything is written
    made = figures(measured)
    for form, found in made.results.agreements.items():
        if not {NAMED, LATER} <= found.keys():
            raise InputError(
                f"expected {LEAST} corruptions or more whose overlaps ({form}) and similarities "
                f"differ, got {len(made.results.names)}; {todo}, of more"
            )
    text = page(made)
    out.mkdir(parents=True, exist_ok=True)
    chosen = select_independent(made.matrices["ratio"], THRESHOLD).names
    source = f"a largest set with overlaps (ratio) below {THRESHOLD:g} in results/overlap"
    write_suite(out / SUITE, suite, chosen, source)
    write_overlap(made.results, out)
    _write(out / "README.md", text.encode())
    recipe = measured.experiment["recipe"]
    note = f"{suite}, {recipe['net']} for {recipe['epochs']} epochs"
    for form, matrix in made.matrices.items():
        heat = heat_map(f"Overlap ({form})", note, matrix.names, matrix.values)
        _write(out / f"overlap_{form}.png", _picture(heat))
    matrix, found, eight = made.matrices["ratio"], made.categories["ratio"], published(made)
    title = f"Categories by overlap (ratio); ● the {len(eight)} of {PUBLISHED}"
    heat = category_map(title, note, matrix.names, matrix.values, found, eight)
    _write(out / "categories.png", _picture(heat))


def _picture(heat: Heat) -> bytes:
    """The heat map in as many colours as can be told apart: a third of the bytes."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(draw_heat(heat, "png"))) as drawn:
        drawn.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(small, "PNG")
    return small.getvalue()


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as file:
        file.write(content)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.overlap",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(dest="what", required=True)
    keeping = kinds.add_parser("keep")
    keeping.add_argument("folder", type=Path, metavar="DIR", help="that `hardy overlap` wrote")
    keeping.add_argument("file", type=Path, metavar="FILE", help="such as kept.npz")
    for name, text in (
        ("data", "what the training images are, instead of where they lay"),
        ("test", "what the test images are, instead of where they lay"),
        ("commit", "of the sources"),
        ("note", "what else has to be known, a sentence"),
    ):
        keeping.add_argument(f"--{name}", help=text)
    paging = kinds.add_parser("page")
    paging.add_argument("file", type=Path, metavar="FILE", help="that `keep` wrote")
    paging.add_argument("-o", "--out", type=Path, default=Path("results/overlap"))
    options = parser.parse_args(words)
    try:
        if options.what == "keep":
            said = {name: getattr(options, name) for name in ("data", "test", "commit", "note")}
            keep(options.folder, options.file, **said)
        else:
            write(read_kept(options.file), options.out)
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
