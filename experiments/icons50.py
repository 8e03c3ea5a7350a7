"""`python -m experiments.icons50`: what do nets know of a style that they have not seen?

    run   train each net without each style of a set of Icons-50-R, with several seeds, and test it
          on that style; the same command resumes
    page  results/icons50.md and a picture of what was confused, from what `run` wrote

Five nets of the code of Icons-50 with its recipe, and WRN-16-4 by methods that help against
corruptions. Made for a GPU; `hardy fetch icons50` brings the icons.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hardy
from hardy.errors import HardyError, InputError, need, printable
from hardy.files import write_file
from hardy.images.icons50.icon_parts import icon_name, open_icons
from hardy.images.icons50.icon_tables import class_names
from hardy.store.provenance import session
from hardy.suites.cells import IS_CLEAN

SUITE = "icons50_style"
UNSEEN, SEEN = "accuracy", "clean accuracy"
NOT_RUN = "it trains all nets on a GPU"
_PAIRS = 10  # of classes that are listed as confused
_RECIPE = {"weight_decay": 1e-4, "lr": 0.1, "batch": 128}


@dataclass(frozen=True)
class Contender:
    """A net, and the method that it is trained by."""

    name: str
    net: str
    method: str = "standard"
    times: int = 1  # as many epochs as the others: the original has 500 for Shake-Shake, of 50


_WIDE = "wrn_16_4:dropout=0.3"
CONTENDERS = (
    Contender("wrn", _WIDE),
    Contender("resnext", "resnext_29_8x32_slim"),
    Contender("shake", "shake_shake_26", times=10),
    Contender("resnet", "resnet_20"),
    Contender("densenet", "densenet_40_b"),
    Contender("wrn_augmix", _WIDE, "augmix"),
    Contender("wrn_hybrid", _WIDE, "hybrid_augment"),
    Contender("wrn_pix_mix", _WIDE, "pix_mix"),
)


def run(
    contenders: Iterable[Contender],
    work: Path,
    icons: str,
    seeds: Iterable[int],
    styles: Iterable[str] = (),
    epochs: int = 50,
    **options: Any,
) -> None:
    """Train and test all of them; what has been written is left alone. `options` are those of
    `hardy.train`."""
    source, title = open_icons(icons)
    every = sorted({icon_name(file).style for file in source.files})
    chosen = list(styles) or every
    for seed in seeds:
        for one in contenders:
            for style in chosen:
                target = work / "results" / f"{one.name}-{style}-{seed}.json"
                if target.exists():
                    continue
                folder = work / "models" / target.stem
                hardy.train(
                    one.method,
                    data=icons,
                    hold_out=f"style:{style}",
                    out=folder,
                    net=one.net,
                    seed=seed,
                    epochs=one.times * epochs,
                    **{**_RECIPE, **options},
                )
                record = {
                    "name": one.name,
                    "net": one.net,
                    "method": one.method,
                    "style": style,
                    "seed": seed,
                    "epochs": one.times * epochs,
                    "icons": title,
                    **_tested(folder, style, icons, work, options),
                    "session": session(),
                }
                target.parent.mkdir(parents=True, exist_ok=True)
                write_file(target, json.dumps(record, indent=1).encode())
                print(f"{target.stem}: {record[UNSEEN]}", flush=True)


def _tested(
    folder: Path, style: str, icons: str, work: Path, options: dict[str, Any]
) -> dict[str, Any]:
    """Accuracies in percent with the ends of their intervals over icons, and how often which class
    was taken for which other one."""
    done = hardy.evaluate(
        f"hardy:{folder}",
        suite=SUITE,
        files=icons,
        only=style,
        store=work / "runs",
        device=options.get("device") or "auto",
    )
    scores = done.score()
    found: dict[str, Any] = {
        name: [scores[name].value, *scores[name].interval] for name in (UNSEEN, SEEN)
    }
    stored, names = done.stored, class_names()
    answers = stored.read(stored.cells, ["top1"])["top1"].reshape(-1)
    wrong = Counter(
        (names[label], names[answer])
        for id, label, answer in zip(stored.ids, stored.labels, answers, strict=True)
        if label != answer and not str(id).startswith(IS_CLEAN)
    )
    found["confused"] = [[*pair, times] for pair, times in wrong.most_common()]
    return found


def write_page(work: Path, out: Path) -> None:
    paths = sorted((work / "results").glob("*.json"))
    if not paths:
        raise InputError(f"expected results of `run` in {work}, got none; run it first")
    records = [json.loads(path.read_bytes()) for path in paths]
    picture = out.with_suffix(".png")
    _draw_confused(_confused(records), picture)
    write_file(out, "\n".join(_page(records, picture.name)).encode())


def _page(records: list[dict[str, Any]], picture: str) -> Iterator[str]:
    first = records[0]
    about = first["session"]
    machine = about["gpu"] or f"{about['cpu']}, {about['cores']} cores"
    epochs = min(record["epochs"] for record in records)
    styles = sorted({record["style"] for record in records})
    yield "# Icons of a style that was not seen\n"
    yield (
        f"{first['icons']}, each style held out in turn. {epochs} epochs (more where a row says "
        "so) of SGD with the recipe of Icons-50's code, but that images are normalised, on "
        f"{machine}, torch {about['versions']['torch']}. Accuracy on the held-out style in "
        "percent, and behind the bar that on held-out icons of seen styles. In brackets: of one "
        "seed, the "
        "95 % interval over icons; of several, whose mean stands before it, the least and the "
        "largest.\n"
    )
    yield f"| net, method | seeds | {' | '.join(styles)} | mean |"
    yield (len(styles) + 3) * "|---" + "|"
    for name in dict.fromkeys(record["name"] for record in records):
        same = [record for record in records if record["name"] == name]
        cells = [_cell([one for one in same if one["style"] == style]) for style in styles]
        longer = f", {same[0]['epochs']} epochs" if same[0]["epochs"] != epochs else ""
        seeds = len({record["seed"] for record in same})
        mean = statistics.fmean(record[UNSEEN][0] for record in same)
        head = f"| `{same[0]['net']}`, {same[0]['method']}{longer} | {seeds} "
        yield head + f"| {' | '.join(cells)} | {mean:.1f} |"
    yield f"\n![Which class was taken for which other one]({picture})\n"
    yield "Most often confused, all nets and styles together:\n"
    yield "| class | taken for | times |"
    yield 3 * "|---" + "|"
    for (kind, other), times in _confused(records).most_common(_PAIRS):
        yield f"| {kind} | {other} | {times:,} |"
    yield f"\n<!-- not run: {NOT_RUN} -->"
    yield "```bash\nhardy fetch icons50\npython -m experiments.icons50 run --work work"
    yield "python -m experiments.icons50 page --work work\n```\n"


def _cell(some: list[dict[str, Any]]) -> str:
    """The accuracy on the style, what the page says in brackets, and the one on seen styles."""
    if not some:
        return "—"
    values = [record[UNSEEN][0] for record in some]
    low, high = (min(values), max(values)) if len(some) > 1 else some[0][UNSEEN][1:]
    seen = statistics.fmean(record[SEEN][0] for record in some)
    return f"{statistics.fmean(values):.1f} ({low:.1f} to {high:.1f}) \\| {seen:.1f}"


def _confused(records: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for record in records:
        for kind, other, times in record["confused"]:
            found[kind, other] += times
    return found


def _draw_confused(confused: Counter[tuple[str, str]], target: Path) -> None:
    """A matrix: a row per class, a column per answer, the darker the more often."""
    figures = need("matplotlib.figure", "plot", "a picture of what was confused")
    names = class_names()
    matrix = np.zeros((len(names), len(names)))
    for (kind, other), times in confused.items():
        matrix[names.index(kind), names.index(other)] = times
    figure = figures.Figure(figsize=(11, 11), layout="constrained")
    axes = figure.subplots()
    shown = axes.imshow(np.sqrt(matrix), cmap="Greys")
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel("answer")
    axes.set_ylabel("class")
    figure.colorbar(shown, shrink=0.6, label="square root of how often")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=100, metadata={"Software": None})


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.icons50",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help=", ".join(one.name for one in CONTENDERS))
    parser.add_argument("--styles", nargs="*", default=[], help="all of the set if left out")
    parser.add_argument("--icons", default="icons50", help="icons50:full, or a folder")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("-o", "--out", type=Path, default=Path("results/icons50.md"))
    options = parser.parse_args(words)
    try:
        if options.what == "page":
            write_page(options.work, options.out)
        else:
            chosen = [one for one in CONTENDERS if not options.only or one.name in options.only]
            about = (options.icons, options.seeds, options.styles, options.epochs)
            run(chosen, options.work, *about)
    except HardyError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
