"""What a suite or edition file may not contain, and what its hash covers."""

import copy
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest

from hardy.errors import InputError
from hardy.suites import edition, load, suite_names
from hardy.suites.edition_files import parse_edition
from hardy.suites.suite import parse_suite


def raw(file: str) -> dict[str, Any]:
    return tomllib.loads(files("hardy").joinpath("suites", file).read_text(encoding="utf-8"))


def changed(file: str, path: str, value: Any) -> dict[str, Any]:
    """The content of a file with one value replaced, or removed where `value` is None."""
    data = copy.deepcopy(raw(file))
    *parents, key = path.split("/")
    table: Any = data
    for parent in parents:
        table = table[int(parent) if isinstance(table, list) else parent]
    if value is None:
        del table[key]
    elif isinstance(table, list):
        table[int(key)] = value
    else:
        table[key] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("sidee", 3, r'field of editions/224.toml "sidee"; did you mean "side"\?'),
        ("side", None, "224.toml: side: expected a length in pixels, got nothing; add it"),
        ("side", "224", "side: expected a length in pixels, got '224'"),
        ("side", True, "side: expected a length in pixels, got True"),
        ("side", 0, "side: expected a length in pixels, got 0"),
        ("name", "225", "name: expected that of the file, \"224\", got '225'"),
        ("corruptions/fog", 3, r"\[fog\]: content: expected a table, got 3"),
        ("corruptions/fog/severity", [], r'\[fog\] "severity"; did you mean "severities"'),
        (
            "corruptions/fog/severities",
            [[1, 2]] * 4,
            r"\[fog\]: severities: expected 1 or 5 rows, got '4",
        ),
        ("corruptions/fog/severities/2", [1], r"expected 2 values per row, got \[1\]"),
        ("corruptions/fog/severities/2", 1, "expected 2 values per row, got 1"),
        ("corruptions/fog/severities/2/1", "2", "expected numbers, got '2'"),
        ("corruptions/fog/severities/2/1", False, "expected numbers, got False"),
        ("corruptions/fog/severities/2/1", float("nan"), "expected numbers, got nan"),
    ],
)
def test_wrong_edition_is_refused(path: str, value: Any, message: str):
    data = changed("editions/224.toml", path, value)
    with pytest.raises(InputError, match=message):
        parse_edition(data, "editions/224.toml")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("titel", "x", r'field of imagenet_c.toml "titel"; did you mean "title"\?'),
        ("classes", None, "classes: expected a whole number of 2 or more, got nothing"),
        ("classes", 1, "classes: expected a whole number of 2 or more, got 1"),
        ("version", 0, "version: expected a whole number above 0, got 0"),
        ("name", "imagenet_d", "name: expected that of the file"),
        ("edition", "225", 'unknown edition "225"; did you mean "224"'),
        (
            "id_rule",
            "stem",
            "id_rule: expected file_stem or row_index or relative_path, got 'stem'",
        ),
        ("storage", "jpeg:101", 'storage: expected "jpeg:1" to "jpeg:100", got \'jpeg:101\''),
        ("storage", "png", "storage: expected"),
        ("recipe/name", "resize256", r"\[recipe\]: name: expected a name and a version"),
        ("recipe/crop", 3, r'field of imagenet_c.toml \[recipe\] "crop"'),
        ("score", "CE", "score: expected mCE or relative mCE, got 'CE'"),
        ("side", 0, "side: expected a length in pixels, got 0"),
        ("counted/0", "fgo", 'corruption of edition 224 "fgo"; did you mean "fog"'),
        ("counted/0", "spatter", r"expected each corruption once, got \['spatter'\]"),
        ("reference/paper_percent/fog", None, r"every corruption of the suite, got \"no \['fog'\]"),
        ("reference/paper_percent/fgo", 3.0, r'\[reference\] corruption "fgo"; did you mean "fog"'),
        ("reference/paper_percent/fog", 819, "expected values above 0, up to 100, got 819"),
        ("reference/fine_fraction/fog", 81.9, "expected values above 0, up to 1, got 81.9"),
        ("reference/clean_percent", float("nan"), "expected an error above 0, below 100, got nan"),
        ("reference/clean_percent", -5.0, "expected an error above 0, below 100, got -5.0"),
        ("reference/clean_percent", 100.0, "expected an error above 0, below 100, got 100.0"),
        ("validation/0", 3, r"validation: expected a list of names, got \[3, "),
        ("counted", [], r"counted: expected at least one corruption, got \[\]"),
        (
            "reference/clean_percent",
            "43.5",
            "expected an error above 0, below 100, got '43.5'",
        ),
    ],
)
def test_wrong_suite_is_refused(path: str, value: Any, message: str):
    data = changed("imagenet_c.toml", path, value)
    with pytest.raises(InputError, match=message):
        parse_suite(data, "imagenet_c.toml", edition)


def test_a_name_many_times_is_refused_at_once():
    data = changed("imagenet_c.toml", "counted", ["fog"] * 200_000)
    started = time.process_time()
    with pytest.raises(InputError, match=r"expected each corruption once, got \['fog'"):
        parse_suite(data, "imagenet_c.toml", edition)
    assert time.process_time() - started < 5


def parse_pair(suite: dict[str, Any], its_edition: dict[str, Any]) -> str:
    constants = parse_edition(its_edition, "editions/224.toml")
    return parse_suite(suite, "imagenet_c.toml", lambda name: constants).content_hash()


def test_hash_is_that_of_the_content():
    same = parse_pair(raw("imagenet_c.toml"), raw("editions/224.toml"))
    assert same == load("imagenet_c").content_hash()
    assert len({load(name).content_hash() for name in suite_names()}) == len(suite_names())
    assert len(same) == 64


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("imagenet_c", "653027a74480daa5"),
        ("cifar10_c", "d21d850b33dbc711"),
        ("imagenet_p", "228bbe2e16b4d6b0"),
    ],
)
def test_hash_is_what_it_has_always_been(name: str, start: str):
    """Another one would make every stored run look stale."""
    assert load(name).content_hash().startswith(start)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 2),
        ("storage", "jpeg:90"),
        ("storage", None),
        ("recipe/name", "resize256_crop224@2"),
        ("id_rule", "relative_path"),
        ("reference/fine_fraction/fog", 0.819325),
        ("reference/clean_percent", 43.6),
        ("score", "relative mCE"),
        ("side", 32),
    ],
)
def test_hash_changes_with_the_suite(path: str, value: Any):
    after = parse_pair(changed("imagenet_c.toml", path, value), raw("editions/224.toml"))
    assert after != load("imagenet_c").content_hash()


def test_hash_changes_with_a_constant_of_the_edition():
    data = changed("editions/224.toml", "corruptions/spatter/severities/4/5", 0)
    assert parse_pair(raw("imagenet_c.toml"), data) != load("imagenet_c").content_hash()


@pytest.mark.parametrize(("path", "value"), [("score", "mCE"), ("side", 224)])
def test_hash_does_not_change_by_saying_what_is_usual(path: str, value: Any):
    after = parse_pair(changed("imagenet_c.toml", path, value), raw("editions/224.toml"))
    assert after == load("imagenet_c").content_hash()


def test_hash_does_not_change_with_corruptions_that_are_not_the_suites():
    row = {"parameters": ["low", "high"], "severities": [[1, 2]]}
    data = changed("editions/224.toml", "corruptions/rain", row)
    assert parse_pair(raw("imagenet_c.toml"), data) == load("imagenet_c").content_hash()
    assert parse_edition(data, "editions/224.toml").severities("rain") == (1,)


@pytest.mark.parametrize(
    "path", ["title", "source", "images", "recipe/description", "reference/source"]
)
def test_hash_does_not_change_with_prose(path: str):
    after = parse_pair(changed("imagenet_c.toml", path, "reworded"), raw("editions/224.toml"))
    assert after == load("imagenet_c").content_hash()


def test_hash_does_not_distinguish_1_from_1_0():
    data = changed("editions/224.toml", "corruptions/shot_noise/severities/0/0", 60.0)
    assert parse_pair(raw("imagenet_c.toml"), data) == load("imagenet_c").content_hash()


def test_suite_is_frozen():
    with pytest.raises(AttributeError):
        load("imagenet_c").version = 2  # type: ignore[misc]
    assert replace(load("imagenet_c"), version=2).version == 2


def test_reading_a_suite_compiles_and_imports_nothing_heavy():
    code = (
        "import sys; from hardy.suites import load, suite_names; "
        "[load(name) for name in suite_names()]; "
        "print([m for m in ('numba', 'torch', 'scipy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_one_number_of_severities_in_a_suite():
    """What is built, scored and printed of a suite goes by one number of them."""
    constants = dict(edition("cifar").corruptions)
    constants["fog"] = constants["fog"][:1]
    mixed = replace(edition("cifar"), corruptions=constants)
    with pytest.raises(InputError, match=r"as many severities of each .* '1 of fog and 5 of "):
        parse_suite(raw("cifar10_c.toml"), "cifar10_c.toml", lambda name: mixed)
