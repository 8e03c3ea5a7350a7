"""Places at URLs: the face of a path, requests that are made again, and nothing told of secrets."""

from __future__ import annotations

import os
import pickle
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy import places
from hardy.documents import read_json
from hardy.errors import HardyError, InputError, MissingResource
from hardy.files import check_target, whole_file, write_file
from hardy.patience import TRIES, Replaced, Unreachable, clean
from hardy.places import UrlPath, is_url, locate, matching, read_range
from hardy.range_files import AHEAD, BLOCK
from tests.objects import Objects

HELLO = b"hello"
SECRET = "topsecret"


def test_a_bucket_is_reached_in_one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what was named first would lie elsewhere from then on."""
    monkeypatch.setattr(places, "roots", {})
    monkeypatch.setattr(places.open_bucket, "cache_clear", lambda: None)
    first = locate("s3://two/in?endpoint_override=one:9000")
    assert locate("s3://two/in") == locate("s3://two/in?endpoint_override=one:9000") == first
    with pytest.raises(InputError, match=r"one way to reach s3://two in a process, got another"):
        locate("s3://two/out?endpoint_override=other:9000")


def test_the_face_of_a_path(objects: Objects) -> None:
    place = locate("s3://bucket/a/b.txt")
    assert isinstance(place, UrlPath)
    assert (str(place), place.name, str(place.parent)) == (
        "s3://bucket/a/b.txt",
        "b.txt",
        "s3://bucket/a",
    )
    assert not place.exists()
    with pytest.raises(FileNotFoundError):
        place.stat()
    with whole_file(place) as file:
        file.write(HELLO)
        assert not place.exists()  # until it is whole
    assert (place.exists(), place.is_file(), place.is_dir()) == (True, True, False)
    assert place.parent.is_dir()
    assert place.stat().st_size == len(HELLO)
    assert place.read_bytes() == HELLO
    assert place.read_text() == HELLO.decode()
    assert list(place.parent.iterdir()) == [place]
    assert locate("s3://bucket").children(all_below=True) == [("a", True), ("a/b.txt", False)]
    for pattern in ("*/b.txt", "a/*.txt", "[ab]/b*", "a/b.txt"):
        assert list(locate("s3://bucket").glob(pattern)) == [place]
        assert matching(locate(f"s3://bucket/{pattern}")) == [place]
    assert matching(locate("s3://bucket/*.tar")) == []
    assert pickle.loads(pickle.dumps(place)) == place
    place.unlink()
    assert not place.exists()
    place.unlink(missing_ok=True)


def test_a_write_that_fails_leaves_what_was_there(objects: Objects) -> None:
    place = locate("s3://bucket/a")
    write_file(place, HELLO)
    with suppress(KeyError), whole_file(place) as file:
        file.write(b"half of it")
        raise KeyError
    assert place.read_bytes() == HELLO


def test_an_interrupt_waits_until_a_file_is_sent(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that is given up in the middle leaves an object that looks whole."""

    class Interrupted:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def write(self, data: bytes) -> None:
            self.inner.write(data[:2])
            signal.raise_signal(signal.SIGINT)
            self.inner.write(data[2:])

        def close(self) -> None:
            self.inner.close()

    def open_output_stream(key: str) -> Interrupted:
        return Interrupted(objects.inner.open_output_stream(key))

    monkeypatch.setattr(objects, "open_output_stream", open_output_stream, raising=False)
    place = locate("s3://bucket/a")
    with pytest.raises(KeyboardInterrupt), place.written_whole() as file:
        file.write(b"whole")
    assert place.read_bytes() == b"whole"


def test_a_file_of_another_machine_is_refused() -> None:
    with pytest.raises(InputError, match=r"file of this machine.*got 'file://host/tmp/x'"):
        locate("file://host/tmp/x")


def test_schemes_have_no_case() -> None:
    assert locate("S3://bucket/a") == locate("s3://bucket/a")


def test_files_have_urls_too(tmp_path: Path) -> None:
    assert locate(tmp_path.as_uri()) == tmp_path
    assert locate(Path(tmp_path.as_uri())) == tmp_path  # with one slash less
    assert not is_url(locate("runs"))
    assert not is_url(locate("C:/runs"))
    assert not is_url(locate("s3:/runs"))
    assert locate(Path("s3://bucket/runs")) == locate("s3://bucket/runs")


@pytest.mark.parametrize(
    "act",
    [
        lambda place: os.stat(place),
        lambda place: hardy.train("standard", data="none.npz", out=place),
        lambda place: hardy.corrupt_files("none.png", place, "fog", 3),
        lambda place: hardy.show("none.png", place),
    ],
)
def test_what_needs_a_disk_is_refused(act: Callable[[Path], object]) -> None:
    with pytest.raises(HardyError, match="expected a place on a disk, got s3://bucket/x; name"):
        act(locate("s3://bucket/x"))


def test_credentials_are_in_no_url() -> None:
    with pytest.raises(InputError, match="expected a URL without credentials, got one for s3://b;"):
        locate("s3://AKIAKEY:topsecret@b/x")
    with pytest.raises(InputError, match="without credentials, got one for s3://b; leave out"):
        locate("s3://AKIAKEY:top/secret@b/x")
    machine = r"expected a file of this machine.*got 'file://h/x';"
    with pytest.raises(InputError, match=machine):
        locate("file://me:topsecret@h/x")
    with pytest.raises(InputError, match=machine):
        locate(Path("file://me:topsecret@h/x"))
    assert locate("hdfs://host:9000/a@b").parts == ("hdfs:", "host:9000", "a@b")


@pytest.mark.parametrize("place", ["s3:///x", "s3://", Path("s3://"), Path("gs://")])
def test_a_url_has_a_bucket(place: str | Path) -> None:
    with pytest.raises(InputError, match=r"such as s3://bucket/folder, got (s3|gs)://"):
        locate(place)


def test_what_stands_behind_the_question_mark_travels_and_is_not_told() -> None:
    place = locate("s3://anonymous@elsewhere/a/b?endpoint_override=host:9000&scheme=http")
    assert str(place) == "s3://elsewhere/a/b"
    assert "9000" not in repr(place)
    rebuild, given = place.__reduce__()
    assert given == ("s3://anonymous@elsewhere/a/b?endpoint_override=host:9000&scheme=http",)
    assert rebuild(*given) == place


def test_an_unknown_kind_of_url() -> None:
    with pytest.raises(
        MissingResource, match=r"such as s3, gs or file, got nobody://x .*install"
    ) as found:
        locate(f"nobody://x/y?token={SECRET}").exists()
    assert SECRET not in "".join(traceback.format_exception(found.value))


def test_messages_are_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "topsecret")
    said = "GET https://me:pw@host/key?X-Amz-Signature=abc failed for topsecret"
    assert clean(said) == "GET https://host/key failed for ***"


def test_a_request_that_fails_is_made_again(objects: Objects) -> None:
    place = locate("s3://bucket/a")
    left = TRIES - 1

    def fails(what: str, key: str) -> str | None:
        nonlocal left
        left -= 1
        return "AWS Error INTERNAL_FAILURE" if left >= 0 else None

    objects.fails = fails
    write_file(place, HELLO)
    left = TRIES - 1
    assert place.stat().st_size == len(HELLO)
    left = TRIES - 1
    assert place.read_bytes() == HELLO
    left = TRIES
    with pytest.raises(Unreachable, match=rf"s3://bucket/a could not be read: .* {TRIES} times"):
        place.exists()


def test_what_no_second_try_changes_is_told_at_once(objects: Objects) -> None:
    objects.fails = lambda what, key: "AWS Error ACCESS_DENIED during PutObject operation"
    with pytest.raises(Unreachable, match=r"could not be written: .*see to .* your rights"):
        write_file(locate("s3://bucket/a"), HELLO)
    assert len(objects.requests) == 1


def test_an_answer_that_is_cut_is_asked_for_again(objects: Objects) -> None:
    place = locate("s3://bucket/cut")  # of which nothing is kept
    write_file(place, HELLO)
    objects.cuts = 2
    assert place.read_bytes() == HELLO
    assert [what for what, _ in objects.requests].count("read_at") == 3


@pytest.mark.parametrize("after", ["longer than before", "short"])
def test_a_record_that_is_replaced_while_it_is_read_is_read_again(
    objects: Objects, after: str
) -> None:
    """Between the requests for its size and for its bytes another process has written it anew."""
    place = locate(f"s3://bucket/{after[:4]}.json")
    write_file(place, b'{"said": "before"}')
    asked: list[str] = []

    def replace_once(what: str, key: str) -> None:
        if what == "read_at" and not asked:
            asked.append(key)
            (objects.folder / key).write_text(f'{{"said": "{after}"}}')

    objects.fails = replace_once
    assert read_json(place, "JSON", "restore it") == {"said": after}


def test_a_file_that_never_rests_is_told(objects: Objects) -> None:
    place = locate("s3://bucket/restless")
    write_file(place, HELLO)
    objects.fails = lambda what, key: (
        (objects.folder / key).write_text(f"{len(objects.requests)} {key}") and None
    )
    with pytest.raises(Replaced, match="s3://bucket/restless was replaced while it was read; run"):
        place.read_at_once(1000)


def test_two_who_write_the_same_where_files_have_to_be_moved(objects: Objects) -> None:
    objects.type_name = "hdfs"
    place, wrote = locate("s3://bucket/part"), [HELLO]

    def write_meanwhile(what: str, key: str) -> None:
        if what == "move" and wrote:
            write_file(place, wrote.pop())

    objects.fails = write_meanwhile
    write_file(place, HELLO)
    assert place.read_bytes() == HELLO
    assert [path.name for path in place.parent.iterdir()] == ["part"]


def test_a_file_is_read_by_blocks_ahead_and_once(objects: Objects) -> None:
    data = bytes(range(256)) * (BLOCK // 256 * 3 + 7)
    place = locate("s3://bucket/large")
    write_file(place, data)
    assert read_range(place, BLOCK - 3, 10) == data[BLOCK - 3 : BLOCK + 7]
    assert read_range(place, len(data) - 5, 100) == data[-5:]
    assert place.read_bytes() == data
    reads = [key for what, key in objects.requests if what == "read_at"]
    assert len(reads) == 4 < AHEAD
    write_file(place, data[::-1])
    assert place.read_bytes() == data[::-1]


def test_what_comes_next_is_fetched_ahead(objects: Objects) -> None:
    place = locate("s3://bucket/long")
    write_file(place, bytes(3 * AHEAD * BLOCK))

    def reads() -> int:
        return [what for what, _ in objects.requests].count("read_at")

    read_range(place, 5 * BLOCK, 10)
    assert reads() == 1  # what is taken at random is fetched alone
    with place.open() as file:
        for _ in range(2):
            file.read(BLOCK)
    end = time.monotonic() + 60
    while reads() < AHEAD + 2:  # blocks 0 to 9, of which one was there
        assert time.monotonic() < end
    assert reads() == AHEAD + 2


def test_an_output_among_predictions_is_refused(objects: Objects) -> None:
    write_file(locate("s3://bucket/run/run.json"), b"{}")
    with pytest.raises(InputError, match="holds the predictions of a run"):
        check_target(locate("s3://bucket/run/deeper/report.html"))
    with pytest.raises(InputError, match="it is a folder"):
        check_target(locate("s3://bucket/run"))
    check_target(locate("s3://bucket/report.html"))
