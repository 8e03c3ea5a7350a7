"""`python -m experiments.overlap`: what `hardy overlap` measured on CIFAR-10, kept and as a page.

    keep DIR FILE    what the page needs of a finished overlap, in about a megabyte
    page FILE        the results from it: CSV, JSON, pictures, a suite and README.md

The file says which model was right on which image, so that all intervals can be drawn again.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from PIL import Image

from experiments.overlap_page import PUBLISHED, SUITE, THRESHOLD, figures, page, published
from hardy.design.collect import from_counts
from hardy.design.picture import Heat, category_map, draw, heat_map
from hardy.design.proxy import Features
from hardy.design.record import MODELS
from hardy.design.results import Measured, read_measured, write_results
from hardy.design.selection import select
from hardy.design.suite import write_suite
from hardy.errors import InputError
from hardy.metrics import Resampling
from hardy.suites.cells import NONE
from hardy.whole import whole_file

FORMAT = 1


def write_kept(path: Path, measured: Measured) -> None:
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


def read_kept(path: Path) -> Measured:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            held = dict(arrays)
        about = json.loads(held["about"].tobytes())
        if about["kept"] != FORMAT:
            raise ValueError(f"format {about['kept']}")
        shape = held["shape"]
        bits = np.unpackbits(held["correct"], count=int(shape.prod())).reshape(shape)
        names = tuple(map(str, held["names"]))
        features = Features(names, held["shifts"], held["sizes"], held["products"])
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise InputError(
            f"{path}: expected what `experiments.overlap keep` writes ({error})"
        ) from error
    strata = held["strata"].astype(np.int64)
    how = Resampling(about["replicates"], about["seed"], strata if len(strata) else None)
    counts = bits.sum(axis=3, dtype=np.uint8)
    return Measured(
        about["experiment"], from_counts(names, counts, held["severities"], how), features
    )


def keep(folder: Path, target: Path, **said: str | None) -> None:
    """`said` is what the record does not know, or says in words of the machine: where its images
    lay."""
    measured = read_measured(folder)
    names = (NONE, *measured.collected.accuracy.names)
    seconds = {name: _seconds(folder / MODELS / name / "log.csv") for name in names}
    more = {key: text for key, text in said.items() if text is not None}
    experiment = {**measured.experiment, "training_seconds": seconds, **more}
    write_kept(target, measured._replace(experiment=experiment))


def _seconds(log: Path) -> float:
    with log.open(newline="") as file:
        return round(sum(float(row["seconds"]) for row in csv.DictReader(file)), 3)


def write(measured: Measured, out: Path) -> None:
    """Everything; pictures last, which need Matplotlib."""
    made = figures(measured)
    out.mkdir(parents=True, exist_ok=True)
    write_results(made.results, out)
    suite = measured.experiment["suite"]
    chosen = select(made.matrices["ratio"], THRESHOLD).names
    source = f"a largest set with overlaps (ratio) below {THRESHOLD:g} in results/overlap"
    write_suite(out / SUITE, suite, chosen, source)
    _write(out / "README.md", page(made).encode())
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
    """In a palette of as many colours as can be told apart: a third of the bytes."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(draw(heat, "png"))) as drawn:
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
    if options.what == "keep":
        said = {name: getattr(options, name) for name in ("data", "test", "commit", "note")}
        keep(options.folder, options.file, **said)
        return 0
    write(read_kept(options.file), options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
