"""`import hardy` brings little; every public name is found in its room when it is asked for."""

from __future__ import annotations

import ast
import inspect
import pickle
import pydoc
import re
import subprocess
import sys

import pytest

import hardy

FUNCTIONS = [name for name in hardy._LATER if name != "torch"]
ROOMS = [name for name in FUNCTIONS if hardy._LATER[name] == f"hardy.{name}"]


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_hardy_brings_nothing_heavy() -> None:
    code = """
import sys, hardy
heavy = {"torch", "numba", "numpy", "cv2", "scipy", "PIL", "typer", "rich", "pyarrow"}
print(sorted(heavy & set(sys.modules)), [name for name in sys.modules if "hardy." in name])"""
    assert python(code) == "[] ['hardy.errors']"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_name_can_be_called(name: str) -> None:
    assert callable(getattr(hardy, name))
    assert inspect.signature(getattr(hardy, name)) is not None


def test_type_checkers_see_the_same_names() -> None:
    module = ast.parse(inspect.getsource(hardy))
    guarded = next(node for node in module.body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    # A name imported as itself is public to type checkers; rooms have functions of other names.
    seen = [one.name for node in imports for one in node.names if one.asname == one.name]
    rooms = ast.unparse(guarded.body[-1]).partition(" = ")[0].strip("()").split(", ")
    assert sorted([*seen, *rooms]) == sorted(hardy._LATER)
    assert set(hardy._LATER) < {*hardy.__all__, "torch"} == set(dir(hardy))


def test_a_star_hides_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "torch" in dir(hardy)
    assert "torch" not in hardy.__all__
    code = "import hardy; hardy.torch.Corrupt; from hardy import *; print('torch' in vars())"
    assert python(code) == "False"
    monkeypatch.setattr(hardy, "find_spec", lambda name: None)
    assert "torch" not in dir(hardy)


def test_a_name_that_is_none() -> None:
    with pytest.raises(AttributeError, match="'hardy' has no attribute 'corrupted'"):
        hardy.corrupted  # noqa: B018


@pytest.mark.parametrize(
    "imports",
    [
        "import hardy; import hardy.corrupt.imagenet_c.blur as blur; from hardy.suites import load",
        "from hardy.corrupt.passes import run_pass; from hardy.suites import load; import hardy",
        "import hardy.corrupt.passes; import hardy.suites.suite; from hardy.suites import load",
        "from hardy import suites, corrupt; from hardy.suites import cells, load; import hardy",
    ],
)
def test_a_room_is_a_package_and_a_function_whatever_comes_first(imports: str) -> None:
    code = f"""{imports}
import hardy, numpy
from hardy import corrupt, suites
image = numpy.full((16, 16, 3), 99, numpy.uint8)
assert corrupt(image, "fog", 1).any() and "imagenet_c" in suites()
import hardy.corrupt.imagenet_c.blur as blur
import hardy.suites.cells as cells
assert hardy.corrupt is corrupt and hardy.suites is suites
assert hardy.corrupt(image, "fog", 1).any() and "imagenet_c" in hardy.suites()
assert blur.glass_blur and hardy.corrupt.imagenet_c.blur is blur and hardy.suites.cells is cells"""
    assert python(code) == ""


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_says_and_pickles_what_it_calls(name: str) -> None:
    room = getattr(hardy, name)
    assert pickle.loads(pickle.dumps(room)) is room
    assert inspect.signature(room) == inspect.signature(room._function())
    first, _, rest = inspect.getdoc(room._function()).partition("\n\n")
    shown = pydoc.render_doc(room, renderer=pydoc.plaintext)
    # Python 3.13 indents less than those before it.
    said = re.escape(f"hardy.{name} - {first}")
    begin = re.search(rf"{said}\n\nDESCRIPTION\n +hardy\.{name}\(", shown)
    assert begin
    assert rest.splitlines()[0] in shown[begin.start() : shown.index("PACKAGE CONTENTS")]
    assert " at 0x" not in room.__doc__
