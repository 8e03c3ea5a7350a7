"""What is missing or broken is said in one line, with a command that helps where one is."""

from __future__ import annotations

import json
import pickle
from importlib import metadata
from pathlib import Path

import pytest

from hardy import errors
from hardy.errors import HardyError, InputError, MissingResource, install_command, need

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, 'pip install "hardy[torch]"'),
        (
            {"url": "file:///code/my%20code", "dir_info": {"editable": True}},
            'pip install -e "/code/my code[torch]"',
        ),
        ({"url": "file:///code/hardy", "dir_info": {}}, 'pip install "/code/hardy[torch]"'),
        (
            {"url": "file:///tmp/hardy-1-py3-none-any.whl", "archive_info": {}},
            'pip install "hardy[torch] @ file:///tmp/hardy-1-py3-none-any.whl"',
        ),
        (
            {
                "url": "https://example.org/hardy.git",
                "vcs_info": {"vcs": "git", "commit_id": COMMIT},
            },
            f'pip install "hardy[torch] @ git+https://example.org/hardy.git@{COMMIT}"',
        ),
    ],
)
def test_the_command_fits_how_hardy_was_installed(origin, command, monkeypatch) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    assert install_command("torch") == command
    with pytest.raises(MissingResource, match="training needs no_such_module, which") as caught:
        need("no_such_module", "torch", "training")
    assert str(caught.value).endswith(f": {command}")


def test_a_checkout_that_was_never_installed(monkeypatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    root = Path(errors.__file__).parents[2]
    assert install_command("demo") == f'pip install -e "{root}[demo]"'


@pytest.mark.parametrize(
    ("message", "packages"),
    [
        ("operator torchvision::nms does not exist\nand more", "torch torchvision"),
        ("libcudart.so.13: cannot open shared object file", "vision_of_another_build"),
    ],
)
def test_builds_that_do_not_fit_together(message, packages, tmp_path, monkeypatch) -> None:
    (tmp_path / "vision_of_another_build.py").write_text(f"raise RuntimeError({message!r})")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(HardyError, match="installed but broken") as caught:
        need("vision_of_another_build", "torchvision", "torchvision:resnet18")
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(f"from one index: pip install --force-reinstall {packages}")


def test_sizes_say_which_side_is_which_where_they_differ() -> None:
    assert errors.sides(10, 12) == "width 12, height 10"
    assert errors.sides(64, 64) == "64 x 64"


def test_a_file_adds_no_lines_to_a_message() -> None:
    error = InputError("unknown layer\nerror: all is lost\r\n\u2028x; correct it")
    assert str(error) == r"unknown layer\nerror: all is lost\r\n\u2028x; correct it"
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error), "it comes from other processes as it was"


def test_lines_of_a_list_are_indented() -> None:
    error = InputError("2 files cannot be shown:", "a.json: no\n  b", "c.json: no")
    assert str(error) == "2 files cannot be shown:\n  a.json: no\\n  b\n  c.json: no"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
