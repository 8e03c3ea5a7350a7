"""Nothing is written through a link, whatever lies in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hardy import inside
from hardy.errors import InputError
from hardy.inside import make_inside, open_inside, refuse_links, write_inside

APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT


@pytest.fixture(params=[True, False], ids=["by steps", "as on Windows"])
def top(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty folder, by a link, as a user may name it; beside it is one with a file "mine"."""
    assert inside.BY_STEPS
    monkeypatch.setattr(inside, "BY_STEPS", request.param)
    for name in ("real", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "elsewhere" / "mine").write_text("mine")
    (tmp_path / "top").symlink_to("real")
    return str(tmp_path / "top")


def untouched(top: str) -> bool:
    elsewhere = Path(top).parent / "elsewhere"
    return os.listdir(elsewhere) == ["mine"] and (elsewhere / "mine").read_text() == "mine"


def test_very_many_files_share_a_temporary_name(top: str) -> None:
    for name in ("a", "below/b", "below/deep/c"):
        write_inside(top, name, memoryview(name.encode()), "temporary")
        assert Path(top, name).read_bytes() == name.encode()
    assert sorted(os.listdir(top)) == ["a", "below"]
    write_inside(top, "a", b"anew", "temporary")
    assert Path(top, "a").read_bytes() == b"anew"


@pytest.mark.parametrize("wait", [True, False])
def test_only_files_that_must_outlast_the_machine_wait(
    wait: bool, top: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda _: waited.append(Path(top, "a").exists()))
    write_inside(top, "a", b"all", "temporary", wait=wait)
    # First the file; then, where folders can be opened, the folder with its name.
    assert waited == ([False, True] if inside.BY_STEPS else [False]) * wait


def test_what_a_killed_process_left_is_written_anew(top: str) -> None:
    Path(top, "temporary").write_text("a long rest of something else")
    write_inside(top, "a", b"all", "temporary")
    assert Path(top, "a").read_bytes() == b"all"


@pytest.mark.parametrize("name", ["link/a", "below/link/a", "link/new/a"])
def test_no_folder_on_the_way_may_be_a_link(name: str, top: str) -> None:
    make_inside(top, "below")
    for place in ("link", "below/link"):
        Path(top, place).symlink_to(Path(top).parent / "elsewhere")
    with pytest.raises(InputError, match=r"link: expected a f.* of its own.*remove it"):
        write_inside(top, name, b"data", "temporary")
    with pytest.raises(InputError, match=r"link: expected a f.* of its own"):
        open_inside(top, name, APPEND)
    with pytest.raises(InputError, match=r"link: expected a f.* of its own"):
        make_inside(top, name)
    assert untouched(top)


@pytest.mark.parametrize("kind", ["link", "hard link", "broken link", "pipe", "folder"])
def test_a_file_is_its_own(kind: str, top: str) -> None:
    mine, place = Path(top).parent / "elsewhere" / "mine", Path(top, "a")
    match kind:
        case "link":
            place.symlink_to(mine)
        case "broken link":
            place.symlink_to(mine.with_name("new"))
        case "hard link":
            place.hardlink_to(mine)
        case "pipe":
            os.mkfifo(place)
        case "folder":
            place.mkdir()
    with pytest.raises(InputError, match="a: expected a file"):
        os.close(open_inside(top, "a", APPEND))
    assert untouched(top)


def test_a_hard_link_in_the_place_of_a_file_is_replaced(top: str) -> None:
    """Links too, but on Windows, where they are refused."""
    mine = Path(top).parent / "elsewhere" / "mine"
    for name in ("a", "temporary"):
        Path(top, name).hardlink_to(mine)
    write_inside(top, "a", b"data", "temporary")
    assert Path(top, "a").read_bytes() == b"data"
    assert untouched(top)


@pytest.mark.parametrize("name", ["link", "below/link", "link/new", "below/link/mine", "broken"])
def test_links_are_found_before_anything_is_done(name: str, top: str) -> None:
    make_inside(top, "below")
    Path(top, "below/own").touch()
    for place in ("link", "below/link"):
        Path(top, place).symlink_to(Path(top).parent / "elsewhere")
    Path(top, "broken").symlink_to("nowhere")
    refuse_links(top, ["below/own", "below/new", "new/newer"])
    with pytest.raises(InputError, match=r"(link|broken): expected a file or folder of its own"):
        refuse_links(top, ["below/own", name])
