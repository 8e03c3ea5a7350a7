"""The shape of the house: small files, one word for one thing, whole sentences."""

from __future__ import annotations

import ast
import re
import statistics
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import hardy
from hardy.catalogue import KINDS

ROOT = Path(__file__).parent.parent
HARDY = ROOT / "src/hardy"
FILES = sorted(HARDY.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
# Back ends that implement one interface have the same modules.
BACK_ENDS = [HARDY / "engine" / name for name in ("cpu", "torch", "triton")]


# The source of these nets is part of what identifies a trained model: no name in it may change.
HASHED = ("train/nets/", "train/blurpool.py")
# A docstring that begins so waits for its subject.
DANGLING = ("Of", "By", "With", "For", "In", "On", "From", "To")


def place(path: Path) -> str:
    return path.relative_to(HARDY).as_posix()


def test_files_are_short_and_few() -> None:
    lines = {place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > 350} == {}
    assert statistics.median(lines.values()) <= 120


def test_docstrings_have_a_subject() -> None:
    faults = []
    for path in (
        found for room in ("src", "tests", "bench") for found in (ROOT / room).rglob("*.py")
    ):
        for node in ast.walk(TREES.get(path) or ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                words = (ast.get_docstring(node) or "-").split()
                if words[0] in DANGLING:
                    faults.append(f"{path.relative_to(ROOT)}: {' '.join(words[:8])}")
    assert faults == []


def test_classes_have_names_of_their_own() -> None:
    found = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(place(path))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_modules_have_names_of_their_own() -> None:
    found = defaultdict(list)
    for path in FILES:
        parallel = any(path.is_relative_to(folder) for folder in BACK_ENDS)
        if not path.stem.startswith("__") and not parallel:
            found[path.stem].append(place(path))
        elif path.stem == "__init__" and not parallel:
            found[path.parent.name].append(place(path))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_tables_have_names_of_their_own() -> None:
    """A table of one name is one thing; numbers that stay in their module may be called alike."""
    tables = ast.Dict | ast.Tuple | ast.List | ast.Set | ast.BinOp | ast.DictComp
    found = defaultdict(list)
    for path, tree in TREES.items():
        parallel = any(path.is_relative_to(folder) for folder in BACK_ENDS)
        for node in tree.body:
            if parallel or not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            name = getattr(target, "id", "_")
            registry = isinstance(node.value, ast.Call) and "Registry" in ast.unparse(
                node.value.func
            )
            mapping = isinstance(node.value, tables) and not is_arithmetic(node.value)
            if name.isupper() and not name.startswith("_") and (registry or mapping):
                found[name].append(place(path))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def is_arithmetic(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and not isinstance(value.op, ast.BitOr)


def typed_lists() -> list[list[str]]:
    """Names that stand in a table of the package, and those that `hardy ls` lists."""
    found = [[entry.name for entry in hardy.names(kind)] for kind in KINDS]
    for tree in TREES.values():
        for node in tree.body:
            value = getattr(node, "value", None)
            items = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", [])
            names = [getattr(item, "value", None) for item in items]
            if len(names) > 1 and all(isinstance(name, str) for name in names):
                found.append(names)
    return found


def enumerations(text: str, names: list[str]) -> list[str]:
    """Where a text has all the names one after the other, in any order."""
    one = f"(?:{'|'.join(re.escape(name) for name in sorted(names, key=len, reverse=True))})"
    several = re.findall(rf"(?<![\w.]){one}(?:(?:, ?| )(?:or |and )?\.?{one})+", text)
    return [some for some in several if set(re.findall(one, some)) == set(names)]


def test_help_types_no_list_a_second_time() -> None:
    assert enumerations("It is a, b or c.", ["b", "a", "c"]) == ["a, b or c"]
    assert enumerations("Such as a or b.", ["b", "a", "c"]) == []
    texts = [
        node.value
        for path, tree in TREES.items()
        if path.is_relative_to(HARDY / "cli")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [
        some for names in typed_lists() for text in texts for some in enumerations(text, names)
    ] == []


def test_no_import_is_waived() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in project["tool"]["importlinter"]["contracts"]:
        assert "ignore_imports" not in contract, contract["name"]


def test_private_names_stay_in_their_room() -> None:
    faults = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hardy."):
                assert node.module is not None
                room = node.module.split(".")[1]
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                private = [n for n in names if n.startswith("_") and not n.startswith("__")]
                if private and place(path).partition("/")[0].removesuffix(".py") != room:
                    faults.append(f"{place(path)}:{node.lineno}: {', '.join(private)}")
    assert faults == []


def test_functions_have_names_of_their_own() -> None:
    """Formulas are registered by what benchmarks call them, commands by the function they call."""
    found = defaultdict(set)
    for path, tree in TREES.items():
        free = any(path.is_relative_to(folder) for folder in (*BACK_ENDS, HARDY / "cli"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                registered = any(isinstance(one, ast.Call) for one in node.decorator_list)
                if not (free or registered):
                    found[node.name].add(place(path))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_what_only_its_own_module_uses_starts_with_an_underscore() -> None:
    folders = ("src", "tests", "bench", "docs", "examples", "experiments")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    texts = [
        path
        for path in [*paths, *ROOT.glob("*.md"), ROOT / "pyproject.toml"]
        if path.suffix in (".py", ".md", ".toml", ".html")
    ]
    words = {path: {*re.findall(r"\w+", path.read_text(encoding="utf-8"))} for path in texts}
    places = Counter(word for found in words.values() for word in found)
    faults = []
    for path, tree in TREES.items():
        shown = {word for node in tree.body for word in signature_words(node)}
        for name in public_names(tree):
            if places[name] == 1 and name not in shown and not place(path).startswith(HASHED):
                faults.append(f"{place(path)}: {name}")
    assert faults == []


def public_names(tree: ast.Module) -> Iterator[str]:
    """What a module defines without an underscore, but for what a decorator registers."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            called = any(isinstance(one, ast.Call) for one in node.decorator_list)
            found = [] if called and isinstance(node, ast.FunctionDef) else [node.name]
        elif isinstance(node, ast.Assign):
            found = [one.id for one in node.targets if isinstance(one, ast.Name)]
        else:
            found = []
        yield from (name for name in found if not name.startswith("_"))


def signature_words(node: ast.stmt) -> set[str]:
    """The types that a public class or function speaks of: whoever calls it meets them."""
    name = getattr(node, "name", "_")
    if name.startswith("_"):
        return set()
    inside = [one for one in ast.walk(node) if isinstance(one, ast.arg | ast.AnnAssign)]
    types = [one.annotation for one in inside if one.annotation is not None]
    types += [one.returns for one in ast.walk(node) if getattr(one, "returns", None)]
    types += node.bases if isinstance(node, ast.ClassDef) else []
    return {word for one in types for word in re.findall(r"\w+", ast.unparse(one))}


def test_a_room_says_if_it_is_internal() -> None:
    """What pages and examples import, and what can be called, is public; all else says so."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    public = {*re.findall(r"^(?:from|import) hardy\.(\w+)", text, re.MULTILINE), *hardy.__all__}
    public |= {"models"}  # whose `Options` a plug-in receives, and whose `Model` it gives
    for folder in HARDY.iterdir():
        if (folder / "__init__.py").exists():
            internal = "Internal: " in (ast.get_docstring(TREES[folder / "__init__.py"]) or "")
            assert internal == (folder.name not in public), folder.name
