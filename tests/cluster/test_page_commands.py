"""The blocks of commands on the pages that are marked `run by: make test-cluster`: the cluster is
one of this machine, and the bucket is on a local server."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import Nodes
from tests.cluster.s3_server import s3_server
from tests.pages import ROOT, blocks_run_by, make_files
from tests.train.small import write_arrays

# What is another here. torchvision, which wants another build of torch than processes of Ray have
# here, gives way to an ONNX file; CIFAR-10 to a few images; and there are two processors.
HERE = {
    "torchvision:resnet18": "onnx:model.onnx",
    "overlap --suite cifar10_c --data cifar10": (
        "overlap --suite cifar10_c --data train/set.npz --images test/set.npz "
        "--only contrast,brightness --epochs 1 --batch 24"
    ),
    "augmix --data cifar10": "augmix --data train/set.npz --epochs 1 --batch 24",
    "--processes 8": "--processes 2",
    "--nproc-per-node 4": "--nproc-per-node 2",
}
PROGRAMS = {"hardy": "hardy", "torchrun": "torch.distributed.run"}


@pytest.fixture
def bucket() -> Iterator[int]:
    """The port of a server with a bucket that is called lab."""
    import boto3

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTKEY")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-the-tests")
        patch.setenv("AWS_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        with s3_server() as port:
            client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
            client.create_bucket(Bucket="lab")
            patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
            yield port


@pytest.fixture
def folder(tmp_path: Path, bucket: int) -> Path:
    """What the pages speak of; imagenet/val is in the bucket too, as files and in a tar."""
    import boto3

    make_files(tmp_path)
    for part in ("train", "test"):
        write_arrays(tmp_path / part, 48)
    with tarfile.open(tmp_path / "val-0.tar", "w") as archive:
        for path in sorted((tmp_path / "imagenet/val").rglob("*.JPEG")):
            (tmp_path / "label.cls").write_text(path.parent.name)
            archive.add(path, f"{path.stem}.jpeg")
            archive.add(tmp_path / "label.cls", f"{path.stem}.cls")
    client = boto3.client("s3")
    for path in (tmp_path / "imagenet/val").rglob("*.JPEG"):
        client.upload_file(str(path), "lab", path.relative_to(tmp_path).as_posix())
    client.upload_file(str(tmp_path / "val-0.tar"), "lab", "imagenet/val-0.tar")
    return tmp_path


def type_line(line: str, folder: Path, address: str) -> None:
    """A process of its own: Ray mistakes one cluster for another where both were used."""
    for said, meant in {**HERE, "10.0.0.7:6379": address}.items():
        line = line.replace(said, meant)
    program, *words = shlex.split(line, comments=True)
    if program == "pip":
        (extra,) = words[1:]
        known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert extra.strip(".[]") in known["optional-dependencies"]
        return
    env = {**os.environ, **({"RAY_ADDRESS": address} if "auto" in words else {})}
    done = subprocess.run(
        [sys.executable, "-m", PROGRAMS[program], *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(("name", "text"), blocks_run_by("make test-cluster"))
def test_the_commands_run(name: str, text: str, nodes: Nodes, folder: Path) -> None:
    for line in text.splitlines():
        type_line(line, folder, nodes.address)


def test_there_are_such_blocks() -> None:
    assert len(blocks_run_by("make test-cluster")) >= 3
