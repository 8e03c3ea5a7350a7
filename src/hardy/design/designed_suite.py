"""`hardy.design`: chosen sets of corruptions, and suites of them, as TOML files that `--suite FILE`
takes."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hardy.design.balanced_sets import Measures, check_known, draw_balanced
from hardy.design.balanced_sets import measure_balance as measure_set
from hardy.design.categories import Categories, categorise
from hardy.design.heat_map import category_map, check_format, draw_heat
from hardy.design.independent_sets import QUICK, select_independent
from hardy.design.matrix import read_matrix
from hardy.errors import InputError
from hardy.files import check_ours, check_target, write_file, write_output
from hardy.progress import Track, watch
from hardy.registry import unknown
from hardy.suites import load, text_of
from hardy.suites import suite_names as own_suites
from hardy.suites.suite import Suite

MARK = "# Written by hardy design, which writes over its own files only."


class Design(NamedTuple):
    """What `hardy.design` found."""

    categories: Categories | None  # None where a largest set was asked for, and no picture
    sets: tuple[tuple[str, ...], ...]  # of corruptions: chosen, drawn or measured
    measures: tuple[Measures, ...]  # coverage and balance of each set, where there are categories
    tried: int  # sets that the proof looked at, of a largest set
    written: tuple[Path, ...]  # suites, then the picture


def design(
    matrix: str | Path,
    *,
    below: float | None = None,
    categories: int | None = None,
    each: int | None = None,
    count: int | None = None,
    measure: str | None = None,
    suite: str | None = None,
    output: str | Path | None = None,
    picture: str | Path | None = None,
    without: Sequence[str] = (),
    seed: int = 0,
    say: Callable[[str], object] = lambda line: None,
    track: Track = watch,
) -> Design:
    """Group corruptions by their overlap, and choose sets without repetition.

    `matrix` is a CSV of overlaps, as `hardy.overlap` writes it. Alone it gives the categories; with
    `below` instead a largest set all of whose overlaps are below, proven; with `categories` also
    `count` balanced sets of `each` corruptions from so many categories; with `measure` also how a
    suite that exists covers the categories. `output` and `suite`, from which the corruptions come,
    write what was chosen as a suite of its own; `picture` draws the categories.

    ```python
    from pathlib import Path

    import hardy

    rows = ["corruption,fog,snow,blur", "fog,1,0.8,0.1", "snow,0.8,1,0.2", "blur,0.1,0.2,1"]
    Path("overlap.csv").write_text("\\n".join(rows))
    print(hardy.design("overlap.csv", below=0.5).sets)
    ```
    """
    matrix = Path(matrix)
    output, picture = (None if path is None else Path(path) for path in (output, picture))
    ways = {"below": below, "categories": categories, "measure": measure}
    _check_asked(ways, {"each": each, "count": count}, suite, output)
    if output is not None:
        _check_file_name(output)
    if picture is not None:
        check_format(_format(picture))
        check_target(picture)
    existing = load(measure).counted if measure is not None else ()
    if suite is not None:
        _base_suite(suite)  # what does not fit is refused before the search
    whole = read_matrix(matrix, without)
    check_known(whole.names, existing)
    source = f"chosen by hardy design from {matrix.name}"
    found, tried = None, 0
    if below is None or picture is not None:  # a largest set needs no categories
        found = categorise(whole, seed, track)
    sets: list[tuple[str, ...]] = []
    if below is not None:
        if (number := len(whole.names)) > QUICK:
            say(f"searching among {number} corruptions, which may take long")
        chosen = select_independent(whole, below)
        sets, tried = [chosen.names], chosen.tried
        source = f"{source}, a largest set with overlaps below {below:g}"
    elif categories is not None and found is not None:
        each, count = (1 if number is None else number for number in (each, count))
        sets = draw_balanced(found, categories, each, count, seed)
        source = f"{source}, {each} of each of {categories} categories, seed {seed}"
    elif measure is not None:
        sets = [existing]
    measures = [] if found is None else [measure_set(found, names) for names in sets]
    written = []
    if output is not None:
        written = _write_suites(output, suite or "", sets, source)
    if picture is not None and found is not None:
        note = str(measures[0] if measures else f"{len(found.groups)} categories")
        members = sets[0] if sets else ()
        heat = category_map("Overlap", note, whole.names, whole.values, found, members)
        write_output(picture, draw_heat(heat, _format(picture)))
        written.append(picture)
    return Design(found, tuple(sets), tuple(measures), tried, tuple(written))


def _check_asked(
    ways: Mapping[str, object],
    balanced: Mapping[str, int | None],
    suite: str | None,
    output: Path | None,
) -> None:
    """Refuse options that do nothing together."""
    given = [way for way, value in ways.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"expected one of {', '.join(ways)}, got {' and '.join(given)}")
    for option, number in balanced.items():
        if number is not None and "categories" not in given:
            raise InputError(f"expected {option} with categories, got it without; name both")
    if output is not None and given in ([], ["measure"]):
        got = "measure, which chooses nothing" if given else "neither"
        raise InputError(
            f"expected below or categories, which choose what output is to hold, got {got}; name "
            "one of them, or leave output out"
        )
    if output is not None and suite is None:
        raise InputError(
            "expected the suite that the corruptions come from, to write a new one; name it (suite)"
        )


def _format(picture: Path) -> str:
    return picture.suffix.lower().lstrip(".")


def _write_suites(
    output: Path, base: str, sets: Sequence[Sequence[str]], source: str
) -> list[Path]:
    """One file, or one for each set, numbered."""
    digits = len(str(len(sets)))
    ends = [f"_{number:0{digits}}" for number in range(1, len(sets) + 1)] if len(sets) > 1 else [""]
    return [
        write_suite(output.with_stem(f"{output.stem}{end}"), base, names, source)
        for end, names in zip(ends, sets, strict=True)
    ]


def write_suite(target: Path, base: str, counted: Sequence[str], source: str) -> Path:
    """Write a suite of these corruptions of a base suite, called as the file is; not over a file
    that `hardy design` did not write, nor over the base suite."""
    _check_file_name(target)
    if target.stem in own_suites():
        raise InputError(f"{target.stem} is a suite of Hardy's own; give the new one another name")
    text = suite_toml(base, target.stem, counted, source)
    check_target(target)
    if target.exists():
        if base.endswith(".toml") and target.samefile(base):
            raise InputError(
                f"cannot write {target}: it is the suite that is chosen from; name another file"
            )
        check_ours(target, MARK, "suite that `hardy design` wrote")
    write_file(target, f"{MARK}\n{text}".encode())
    return target


def suite_toml(base: str, name: str, counted: Sequence[str], source: str) -> str:
    """The base suite with only these corruptions; a reference keeps its errors for them."""
    suite = _base_suite(base)
    for one in counted:
        if one not in suite.corruptions:
            raise unknown(f"corruption of {suite.name}", one, suite.corruptions)
    data = tomllib.loads(text_of(suite))
    data |= {"name": name, "version": 1, "counted": list(counted), "validation": []}
    data["title"] = f"{name}: {len(counted)} corruptions of {suite.title}"
    data["source"] = f"{source}; {suite.source}"
    for errors in data.get("reference", {}).values():
        if isinstance(errors, dict):
            for other in set(errors) - set(counted):
                del errors[other]
    return as_toml(data)


def _base_suite(name: str) -> Suite:
    suite = load(name)
    if suite.kind != "corruptions":
        raise InputError(f"expected a suite of corruptions to choose from, got {suite.name}")
    return suite


def as_toml(table: Mapping[str, Any]) -> str:
    return "\n".join(_lines(table)) + "\n"


def _check_file_name(target: Path) -> None:
    if target.suffix != ".toml" or not re.fullmatch(r"[a-z0-9_]+", target.stem):
        raise InputError(
            f"expected a file of small letters, digits and _ such as my_suite.toml, got {target}"
        )


def _lines(table: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The lines of TOML: plain values first, then tables; empty ones are left out."""
    for key, value in table.items():
        if not isinstance(value, Mapping):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            path = f"{above}{_key(key)}"
            yield f"\n[{path}]"
            yield from _lines(value, f"{path}.")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    """Strings and numbers are written as in JSON, but that TOML has no surrogate pairs."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if not isinstance(value, str | int | float):
        raise InputError(f"expected text, numbers, lists and tables in a suite, got {value!r}")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
