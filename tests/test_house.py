"""The shape of the house: what a room keeps to itself."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
HARDY = ROOT / "src/hardy"
FILES = sorted(HARDY.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def place(path: Path) -> str:
    return path.relative_to(HARDY).as_posix()


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
