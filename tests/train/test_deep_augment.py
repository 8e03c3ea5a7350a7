"""DeepAugment: which images pass which network, where the networks come from, and bad files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from hardy.errors import InputError
from hardy.train import loop
from hardy.train.loop import run_training
from hardy.train.method import Draw, make_method
from hardy.train.methods import deep_augment, image_networks
from hardy.train.methods.deep_augment import DamagedNetwork, DeepAugment
from hardy.train.methods.image_networks import new_network, trained_network
from hardy.train.processes import ALONE
from tests.train.small import CPU, NARROW, narrow, small_data
from tests.train.test_loop import killed_in, same, weights
from tests.train.tiny import bytes_of, linear_net, no_waiting

__all__ = ["narrow"]


def ready(draw: Draw | None = None, **settings: str) -> DeepAugment:
    """A method whose networks are not trained, which is quick."""
    method = make_method("deep_augment", {"damaged": "2", "steps": "0", **settings})
    assert isinstance(method, DeepAugment)
    method.begin(draw or Draw(0, CPU), (3, 8, 8))
    method.begin_epoch(0, linear_net(), iter(()))
    return method


def test_a_third_passes_each_network_and_the_rest_stays() -> None:
    pixels = bytes_of(11).float() / 255
    pixels.requires_grad_()
    made = ready().augment(pixels)
    assert made.shape == pixels.shape
    assert torch.equal(made[:5], pixels[:5])
    assert (made[5:] != pixels[5:]).flatten(1).any(1).all()
    assert not made.requires_grad
    assert made.min() >= 0
    assert made.max() <= 1
    # The second three were enlarged, the last three coded.
    again = ready(Draw(0, CPU))
    first = again.networks["edsr"].distort(pixels[5:8].detach(), again.draw)
    second = again.networks["cae"].distort(pixels[8:].detach(), again.draw)
    torch.testing.assert_close(made[5:], torch.cat([first, second]))
    few = pixels[:2].detach()
    assert torch.equal(ready().augment(few), few)


def test_every_twenty_images_share_a_damaged_network(monkeypatch) -> None:
    class Marked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, pixels: Tensor, draw: Draw) -> Tensor:
            return torch.zeros_like(pixels) + self.weight

    monkeypatch.setitem(
        deep_augment.DAMAGE, "edsr", lambda sound, draw: {"weight": draw.uniform(1)}
    )
    network = DamagedNetwork("edsr", Marked())
    network.fill_table(50, Draw(0, CPU))
    place = network.table.data_ptr()
    made = network.distort(torch.zeros(110, 3, 2, 2), Draw(0, CPU))[:, 0, 0, 0]
    parts = [part.unique() for part in made.split(20)]
    assert all(len(part) == 1 for part in parts)
    assert len(torch.cat(parts).unique()) > 3
    assert torch.isin(made, network.table).all()
    network.fill_table(50, Draw(1, CPU))
    assert network.table.data_ptr() == place  # where a recorded step looks


def test_damage_hangs_on_seed_and_epoch() -> None:
    tables = {}
    for seed, epoch in ((0, 0), (0, 0), (0, 1), (1, 0)):
        method = ready(Draw(seed, CPU))
        method.draw.uniform(5)  # whatever else has been drawn
        method.restore_epoch(epoch, {})
        table = method.networks["edsr"].table
        tables.setdefault((seed, epoch), table)
        assert torch.equal(tables[seed, epoch], table)
    assert not torch.equal(tables[0, 0], tables[0, 1])
    assert not torch.equal(tables[0, 0], tables[1, 0])


def test_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    method, images = ready(), bytes_of(6)
    with no_waiting(monkeypatch):
        method.loss(linear_net(), images, torch.arange(6) % 3).backward()


def test_networks_are_trained_once_for_all_seeds(tmp_path, monkeypatch, own_networks) -> None:
    data, seen = small_data(tmp_path), []

    def track(steps, total, unit):
        seen.append((total, unit))
        return steps

    before = torch.random.get_rng_state()
    first = trained_network("edsr", data, 2, CPU, ALONE, track)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert seen == [(2, "steps of the network edsr")]
    assert not torch.equal(first["head.0.weight"], new_network("edsr").head[0].weight)
    (path,) = own_networks.glob("edsr-*")
    assert same(load_file(path), first)
    again = trained_network("edsr", data, 2, CPU, ALONE, track)
    assert same(first, again)
    assert len(seen) == 1
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])  # cut off: made anew
    assert same(trained_network("edsr", data, 2, CPU, ALONE, track), first)
    assert path.read_bytes() == whole
    other = replace(data, sha256="other")
    trained_network("edsr", other, 2, CPU, ALONE, track)
    assert len(seen) == 3
    assert len(list(own_networks.glob("edsr-*"))) == 2


def test_patches_of_large_images() -> None:
    images = torch.arange(100 * 80).view(1, 1, 100, 80)
    assert image_networks._patch(images, [0.0, 0.0])[0, 0, 0, 0] == 0
    last = image_networks._patch(images, [0.9999, 0.9999])
    assert last.shape == (1, 1, 64, 64)
    assert last[0, 0, -1, -1] == 100 * 80 - 1
    small = images[:, :, :8, :8]
    assert torch.equal(image_networks._patch(small, [0.5, 0.5]), small)


def released(folder: Path) -> dict[str, str]:
    """Files as the authors' are: one by torch with fixed layers, both by the names of layers."""
    networks = {kind: new_network(kind) for kind in ("edsr", "cae")}
    for network in networks.values():
        for weight in network.parameters():
            weight.data.mul_(0.9)
    fixed = {"sub_mean.weight": torch.eye(3).view(3, 3, 1, 1), "sub_mean.bias": torch.zeros(3)}
    torch.save({**networks["edsr"].state_dict(), **fixed}, folder / "edsr.pt")
    save_file(networks["cae"].state_dict(), folder / "cae.safetensors")
    return {"edsr": str(folder / "edsr.pt"), "cae": str(folder / "cae.safetensors")}


def test_released_weights_are_taken(tmp_path, own_networks) -> None:
    files = released(tmp_path)
    method = ready(steps="5", **files)
    for kind, network in method.networks.items():
        sound = new_network(kind).state_dict()
        assert all(
            torch.equal(one, 0.9 * sound[n]) for n, one in network.sound.state_dict().items()
        )
    assert not own_networks.exists()  # nothing was trained
    said = method.described()
    assert {len(said["edsr"]), len(said["cae"])} == {64}  # what is in them, not where they lie
    assert said["steps"] == 5
    moved = tmp_path / "elsewhere.pt"
    Path(files["edsr"]).rename(moved)
    assert ready(edsr=str(moved), cae=files["cae"], steps="5").described() == said


def test_a_run_goes_on_without_files_and_cache(narrow, tmp_path, monkeypatch, own_networks) -> None:
    """A checkpoint has the networks, so that cleaning up in between changes nothing."""
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    data, settings = small_data(tmp_path, count=24, side=8), {"damaged": "2", "steps": "1"}
    recipe = replace(NARROW, batch=12, deterministic=True)
    begin = partial(run_training, "deep_augment", data, hyper=recipe, settings=settings)
    with pytest.raises(KeyboardInterrupt):
        begin(out=tmp_path / "cut", track=killed_in(2))
    for path in own_networks.iterdir():
        path.unlink()
    begin(out=tmp_path / "cut")
    assert not list(own_networks.iterdir())
    begin(out=tmp_path / "whole")
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


def test_bad_files(tmp_path) -> None:
    files = released(tmp_path)
    other = tmp_path / "other.pt"
    torch.save(linear_net().state_dict(), other)
    narrow_net = {name: one[:, :1] if one.ndim == 4 else one for name, one in
                  new_network("cae").state_dict().items()}  # fmt: skip
    torch.save(narrow_net, tmp_path / "narrow.pt")
    broken = new_network("edsr").state_dict()
    broken["head.0.bias"][3] = float("nan")
    torch.save(broken, tmp_path / "nan.pt")
    (tmp_path / "cut.pt").write_bytes((tmp_path / "edsr.pt").read_bytes()[:999])
    todo = "bring another file, or leave `edsr` out"
    for setting, file, message in (
        ("edsr", tmp_path / "none.pt", "none.pt"),
        (
            "edsr",
            other,
            rf"weights of EDSR-baseline x 4, where 1.bias is not there, got .*; {todo}",
        ),
        ("edsr", files["cae"], "weights of EDSR-baseline x 4, where .* and 115 more differ"),
        ("cae", tmp_path / "narrow.pt", r"where d_block_1.1.weight is \(128, 128, 3, 3\), got \("),
        ("edsr", tmp_path / "nan.pt", "expected numbers as weights, got others in head.0.bias"),
        ("edsr", tmp_path / "cut.pt", "no checkpoint that can be read"),
    ):
        with pytest.raises(InputError, match=message) as raised:
            make_method("deep_augment", {setting: str(file)})
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": "-1"}, "expected steps of at least 0, got -1"),
        ({"damaged": "0"}, "expected at least 1 damaged network, got 0"),
    ],
)
def test_bad_settings_of_deep_augment(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_method("deep_augment", settings)
