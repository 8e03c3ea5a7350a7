"""Buckets of stores at URLs, by pyarrow's file systems or those of fsspec."""

from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import IO, Any

from hardy.errors import MissingResource, told
from hardy.interrupts import interrupts_later
from hardy.patience import clean

# Stores in which an object is there whole once its stream is closed, and not before.
_WHOLE_AT_ONCE = ("s3", "gcs", "abfs")
_COPIED = 1 << 23  # bytes that are sent at a time
# Scheme and bucket -> the URL as it was given, with all that a path does not tell.
roots: dict[tuple[str, str], str] = {}


def send(file: IO[bytes], system: Any, key: str, unfinished: str) -> None:
    """Write a file that is there whole, or not at all; meanwhile it may have another name."""
    whole = system.type_name in _WHOLE_AT_ONCE
    target = key if whole else unfinished
    file.seek(0)
    with interrupts_later():  # a stream that is given up is closed, and its object there in part
        try:
            stream = system.open_output_stream(target)
        except FileNotFoundError:  # no store of objects, but folders that have to be made
            system.create_dir(key.rpartition("/")[0])
            stream = system.open_output_stream(target)
        while some := file.read(_COPIED):
            stream.write(some)
        stream.close()
        if not whole:
            system.move(target, key)


@cache
def open_bucket(scheme: str, bucket: str) -> tuple[Any, str]:
    """The file system of a bucket, and what the bucket is called there."""
    from pyarrow import ArrowInvalid, ArrowKeyError, ArrowNotImplementedError
    from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

    root = roots[scheme, bucket]
    if scheme == "s3":  # then a small file takes one request; older versions cannot
        with suppress(ArrowInvalid):
            mark = "&" if "?" in root else "?"
            system, base = FileSystem.from_uri(f"{root}{mark}allow_delayed_open=true")
            return system, base.rstrip("/")
    try:
        system, base = FileSystem.from_uri(root)
        return system, base.rstrip("/")
    except (ArrowInvalid, ArrowKeyError, ArrowNotImplementedError) as error:
        try:
            fsspec = import_module("fsspec")
            found, base = fsspec.url_to_fs(f"{scheme}://{bucket}")
        except (ImportError, ValueError) as other:
            raise MissingResource(
                f"expected a URL of a kind that pyarrow or fsspec knows, such as s3, gs or file, "
                f"got {scheme}://{bucket} ({clean(told(error))}; {clean(told(other))}); install "
                "fsspec and the package that brings this kind"
            ) from None  # what libraries say is shown cleaned alone
        return PyFileSystem(FSSpecHandler(found)), base.rstrip("/")
