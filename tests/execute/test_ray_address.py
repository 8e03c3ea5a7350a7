"""Where a cluster is, in words; and what those without Ray are told. No cluster is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hardy.errors import InputError, MissingResource
from hardy.evaluation import evaluate
from hardy.execute.ray_crew import RayCrew, connected, ray_address
from tests.run.runs import FEW
from tests.suites.helpers import write_rows


@pytest.mark.parametrize(
    ("on", "address"),
    [
        ("ray", "local"),
        ("auto", "auto"),
        ("ray://head.example:10001", "ray://head.example:10001"),
        ("10.0.0.7:6379", "10.0.0.7:6379"),
        ("[fe80::1]:6379", "[fe80::1]:6379"),
    ],
)
def test_addresses(on: str, address: str) -> None:
    assert ray_address(on) == address


class Connected:
    """A Ray that this process is connected to already."""

    gcs_address = "10.0.0.7:6379"

    def is_initialized(self) -> bool:
        return True

    def get_runtime_context(self) -> Connected:
        return self


@pytest.mark.parametrize("address", ["local", "auto", "head.example:6379", "ray://head:10001"])
def test_the_cluster_that_a_process_is_connected_to_is_taken(address: str) -> None:
    with connected(Connected(), address, 0):
        pass


def test_another_cluster_than_the_connected_one_is_refused() -> None:
    refused = r"connected to Ray at head:6380, or to none, got 10.0.0.7:6379; call ray.shutdown"
    with pytest.raises(InputError, match=refused), connected(Connected(), "head:6380", 0):
        pass


@pytest.mark.parametrize(
    "on", ["", "local", "dask", "ray:", "ray://", "host", "host:", "h:1:2", "http://h:1"]
)
def test_what_is_no_address(on: str) -> None:
    with pytest.raises(InputError, match=r'expected `on` as "ray" .* or "HOST:PORT", got \''):
        ray_address(on)


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingResource, match=r"a run on Ray needs ray, .*\[ray\]"):
        RayCrew("ray")


def test_nobody_else_imports_ray() -> None:
    code = "import sys, hardy, hardy.evaluation, hardy.execute; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("other", [{"devices": "cpu,cpu"}, {"shard": "1/2"}])
def test_one_way_to_share(other: dict[str, Any], tmp_path: Path) -> None:
    (name,) = other
    with pytest.raises(InputError, match=f"expected `{name}` or `on`, got both"):
        evaluate("fake:10", images=write_rows(tmp_path, 4), on="ray", **other, **FEW)


@pytest.mark.parametrize("on", ["ray://me:topsecret@127.0.0.1:1", "me:topsecret@127.0.0.1:1"])
def test_credentials_are_not_told(on: str) -> None:
    with pytest.raises(InputError, match=r"got '127\.0\.0\.1:1' behind an @; leave out") as told:
        ray_address(on)
    assert "topsecret" not in str(told.value)
