"""Fills the tables of the pages from the registries: `python -m docs.tables`, or `make docs`.

A page says where a table goes and of what it is: `<!-- table: suites -->` ... `<!-- end -->`. What
stands between the two lines is written here and nowhere else.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import torch

import hardy
from docs.gallery import strips
from hardy.corrupt import CORRUPTIONS as ALL_CORRUPTIONS
from hardy.limits import LIMITS
from hardy.metrics import METRICS
from hardy.metrics.metric import CORRUPTIONS
from hardy.scores.effective_robustness import published_line
from hardy.suites import load, published
from hardy.train import METHODS, NETS
from hardy.train.blurpool import STRIDES
from hardy.train.net_settings import defaults_of
from hardy.train.published_trainings import TRAININGS

DOCS = Path(__file__).parent
PLACE = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rows(kind: str) -> list[tuple[str, str]]:
    """(name, a line about it): what `hardy ls` lists of a kind."""
    return [(entry.name, entry.summary) for entry in hardy.names(kind)]


def training_methods() -> str:
    """The methods with what can be set, and what the nets have seen."""
    lines = []
    for name, said in rows("methods"):
        method = METHODS[name]
        settings = [f"{one.name}={typed(one.default)}" for one in dataclasses.fields(method)]
        seen = ", ".join(method.seen) or ("the one named" if name == "corrupted" else "none")
        lines.append(f"| `{name}` | {said} | {' '.join(settings)} | {seen} |\n")
    return f"| method | what it is | settings | seen |\n|---|---|---|---|\n{''.join(lines)}"


def nets() -> str:
    """The nets with their sizes and what can be set."""
    lines = []
    for name, said in rows("nets"):
        factory = NETS[name]
        sizes = [f"{millions(factory, classes):.2f}" for classes in (10, 1000)]
        settings = [f"{one}={typed(value)}" for one, value in defaults_of(factory).items()]
        lines.append(f"| `{name}` | {said} | {' | '.join(sizes)} | {' '.join(settings)} |\n")
    header = "| net | what it is | weights, 10 classes | 1000 classes | settings |\n"
    return header + 5 * "|---" + "|\n" + "".join(lines)


def millions(factory: Callable[..., torch.nn.Module], classes: int) -> float:
    with torch.device("meta"):  # shapes without values
        net = factory(classes, STRIDES)
    return sum(weight.numel() for weight in net.parameters()) / 1e6


def typed(value: object) -> str:
    """A setting as one types it: 8/255 and 0.1,0.2."""
    if isinstance(value, tuple):
        return ",".join(map(typed, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value) or "NAME"
    if float(f"{value:g}") == value:
        return f"{value:g}"
    levels = round(255 * value)
    return f"{levels}/255" if levels / 255 == value else repr(value)


def all_metrics() -> str:
    """Each metric with the scores it gives, its unit and direction, and the columns it reads."""
    lines = []
    for name in METRICS:
        one = METRICS[name]
        single = f"{name} fog" if one.kind == CORRUPTIONS else f"{name} tilt"
        labels = (one.mean, one.validation, one.clean, single if one.single else None)
        scores = ", ".join(label for label in labels if label)
        unit = "% of the reference's" if one.is_ratio else one.unit
        better = "lower" if one.lower_is_better else "higher"
        cells = (name, scores, one.group, unit, better, ", ".join(one.base.needs), one.caption)
        lines.append(f"| {' | '.join(cells)} |\n")
    header = "| metric | scores | group | unit | better | stored columns | what it is |\n"
    return header + 7 * "|---" + "|\n" + "".join(lines)


def gallery(group: str) -> str:
    """What the site shows as pictures: each formula with its constants."""
    bar = r"\|"
    lines = [
        f"| `{strip.name}` | {strip.summary.replace('|', bar)} | {strip.constants} |\n"
        for strip in strips(group)
    ]
    return f"| name | formula | constants |\n|---|---|---|\n{''.join(lines)}"


def natural_shifts() -> str:
    """Published accuracies, a column per suite; in brackets those on clean images."""
    suites = [name for name in hardy.suites() if load(name).shift is not None]
    found: dict[str, dict[str, str]] = {}
    for suite in suites:
        for one in published.find("accuracy", suite):
            clean = one.table.rows[one.row].get("clean accuracy")
            shown = one.value.text + (f" ({clean.text})" if clean else "")
            found.setdefault(one.table.label(one.row), {})[suite] = shown
    columns = [suite for suite in suites if any(suite in row for row in found.values())]
    titles = [load(suite).title for suite in columns]
    lines = [
        f"| {' | '.join([name, *(row.get(suite, '–') for suite in columns)])} |\n"
        for name, row in found.items()
    ]
    return f"| {' | '.join(['model', *titles])} |\n{'|---' * (1 + len(titles))}|\n{''.join(lines)}"


def what_moves() -> str:
    """The corruptions that move pixels, then those that move objects."""
    lines = [
        f"| `{name}` | {moves} | {ALL_CORRUPTIONS[name].summary} |\n"
        for moves in ("pixels", "objects")
        for name in hardy.corruptions()
        if ALL_CORRUPTIONS[name].moves == moves
    ]
    return f"| corruption | moves | what it does |\n|---|---|---|\n{''.join(lines)}"


def shift_lines() -> str:
    """What clean accuracy predicts on each natural shift, and how well."""
    lines = []
    for name in hardy.suites():
        line = published_line(name).line
        if line is not None:
            fit = f"{line.intercept:.2f} + {line.slope:.2f} · logit(clean)"
            reach = f"{line.low:.1f} to {line.high:.1f} %"
            lines.append(f"| `{name}` | {line.number} | {fit} | {line.spread:.1f} | {reach} |\n")
    header = "| suite | models | logit(accuracy) | spread, in points | their clean accuracy |\n"
    return header + 5 * "|---" + "|\n" + "".join(lines)


def trainings() -> str:
    """The trainings of papers: what they are, the figures, and what is otherwise here."""
    lines = []
    for name in TRAININGS:
        one = TRAININGS[name]
        said = {key: value for key, value in one.options.items() if key not in ("scale", "ratio")}
        said |= {f"{one.method}: {key}": value for key, value in one.settings.items()}
        listed = ", ".join(
            f"{key} {'/'.join(map(typed, value)) if isinstance(value, list) else typed(value)}"
            for key, value in said.items()
        )
        begins = f" Begins with {one.begins_with}." if one.begins_with else ""
        unlike = "; ".join(one.unlike)
        lines.append(f"| `{name}` | {one.summary}{begins} | {listed} | {unlike} |\n")
    header = "| training | what it is | its figures | left open, or otherwise here |\n"
    return header + 4 * "|---" + "|\n" + "".join(lines)


def limits() -> str:
    """What each variable raises, and why there is a limit."""
    lines = [f"| `{one.variable}` | {one.usual:,} {one.unit} | {one.reason} |\n" for one in LIMITS]
    return f"| variable | at most | why |\n|---|---|---|\n{''.join(lines)}"


def table(kind: str) -> str:
    if kind.startswith("gallery "):
        return gallery(kind.removeprefix("gallery "))
    if kind == "training methods":
        return training_methods()
    if kind == "nets":
        return nets()
    if kind == "trainings":
        return trainings()
    if kind == "natural shifts":
        return natural_shifts()
    if kind == "what moves":
        return what_moves()
    if kind == "shift lines":
        return shift_lines()
    if kind == "limits":
        return limits()
    if kind == "all metrics":
        return all_metrics()
    lines = [f"| `{name}` | {said} |\n" for name, said in rows(kind)]
    return f"| {kind.rstrip('s')} | what it is |\n|---|---|\n{''.join(lines)}"


def filled(page: str) -> str:
    """The page with every table as it should be."""
    return PLACE.sub(lambda place: place[1] + table(place[2]) + place[3], page)


def main() -> None:
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if filled(text) != text:
            path.write_text(filled(text), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
