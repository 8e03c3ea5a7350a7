"""`hardy train`, and what it leaves as a model: `hardy:DIR`."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import typer
from safetensors.torch import load_file
from typer.testing import CliRunner

from hardy import cli, evaluate, progress
from hardy.cli.train_command import train_model
from hardy.errors import InputError
from hardy.models import Override, load_model
from hardy.suites.cells import CLEAN
from hardy.train import METHODS, NETS, loop
from hardy.train import training_data as data
from hardy.train.loop import run_training
from hardy.train.outlook import Outlook
from hardy.train.trained_model import trained_net
from tests.photos import random_images
from tests.records import read_unsealed
from tests.train.small import NARROW, narrow, small_data, write_arrays

__all__ = ["narrow"]

pytestmark = pytest.mark.usefixtures("narrow")

IMAGES = random_images(5, 16, 16, seed=1)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Run `hardy train ...` beside `set.npz`; gives the exit code and what was printed."""
    monkeypatch.chdir(tmp_path)
    write_arrays(tmp_path)
    app = typer.Typer()
    app.command()(train_model)

    def run(*arguments: str) -> tuple[int, str]:
        small = {"--data": "set.npz", "--out": "out", "--net": "narrow", "--device": "cpu"}
        rest = [word for pair in small.items() if pair[0] not in arguments for word in pair]
        result = CliRunner().invoke(app, [*arguments, *rest], catch_exceptions=False)
        return result.exit_code, result.output

    return run


def test_train_again_and_load(run) -> None:
    arguments = ("patch_gaussian", "--epochs", "1", "--set", "size=7", "--set", "sigma=0.5")
    code, out = run(*arguments)
    assert code == 0
    first, end, told, todo = out.splitlines()
    assert re.fullmatch(r"epoch 1 of 1: loss \d\.\d{4}, \d+ % right of 64 training images", end)
    assert first == "64 images of 3 classes, array set.npz"
    assert told.startswith("trained narrow by patch_gaussian, the loss is ")
    assert told.endswith(" after epoch 1; corruptions seen: gaussian_noise, noc_gaussian")
    hint = "next: hardy eval hardy:out --suite SUITE --images SRC, with --own-classes if "
    assert todo == f"{hint}its classes are not the suite's"
    described = json.loads(Path("out/run.json").read_text())
    assert described["method"] == {"name": "patch_gaussian", "size": 7, "sigma": 0.5, "smallest": 0}
    assert described["recipe"]["precision"] == "float32"
    code, out = run(*arguments)
    assert (code, out.splitlines()[1]) == (0, "out was finished before")
    assert load_model("hardy:out").logits(IMAGES).shape == (5, 3)


def test_a_run_that_goes_on_says_so(run, monkeypatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    whole = loop.Training.run_epoch

    def stopped(training, track) -> None:
        if training.epoch == 2:
            raise KeyboardInterrupt
        whole(training, track)

    with monkeypatch.context() as patch:
        patch.setattr(loop.Training, "run_epoch", stopped)
        assert run("standard", "--epochs", "3")[0] == 130
    _, _, told, _ = run("standard", "--epochs", "3")[1].splitlines()
    assert told.startswith("trained narrow by standard on from epoch 2, the loss is ")


def test_weights_to_start_from(run) -> None:
    torch.save(NETS["narrow"](3).state_dict(), "weights.pt")
    code, out = run("standard", "--epochs", "1", "--init", "weights.pt")
    assert code == 0
    unknown = "unknown, since nothing beside the weights of --init says which these had seen"
    assert out.splitlines()[2].endswith(f" after epoch 1; corruptions seen: {unknown}")
    code, out = run("gauss_single", "--epochs", "1", "--init", "weights.pt", "--out", "partly")
    assert out.splitlines()[2].endswith(
        "; corruptions seen: gaussian_noise, noc_gaussian; nothing beside the weights of --init "
        "says which these had seen"
    )
    run("gauss_single", "--epochs", "1", "--out", "known")
    init = ("--init", "known/model.safetensors")
    code, out = run("standard", "--epochs", "1", "--out", "further", *init)
    assert out.splitlines()[2].endswith("; corruptions seen: gaussian_noise, noc_gaussian")
    record = read_unsealed(Path("known/run.json"))
    spoiled = record | {"seen_corruptions": ["\ud800", "\x1b[31mred"]}
    Path("known/run.json").write_text(json.dumps(spoiled))
    code, out = run("standard", "--epochs", "1", "--out", "spoiled", *init)
    assert out.splitlines()[2].endswith(r"; corruptions seen: \ud800, \x1b[31mred")


def test_weights_for_other_classes(run) -> None:
    torch.save(NETS["narrow"](10).state_dict(), "weights.pt")
    message = (
        "it is for 10 classes and the model for 3; start from weights of the same net, made for as "
        "many classes as the data has, or leave `init` out$"
    )
    with pytest.raises(InputError, match=message):
        run("standard", "--init", "weights.pt")
    assert not Path("out").exists()


def test_the_help_names_them_all() -> None:
    shown = CliRunner().invoke(cli.app, ["train", "--help"]).output
    told = re.sub(r"[\s│]+", " ", shown)
    assert f"Methods: {', '.join(METHODS)}." in told
    assert f"Nets: {', '.join(NETS)}; for larger images those of torchvision, timm," in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("augmx",), 'unknown method "augmx"'),
        (("standard", "--net", "wrn"), 'unknown net "wrn"'),
        (
            ("standard", "--set", "sigma"),
            'expected --set NAME=VALUE such as .*, got "sigma"',
        ),
        (("standard", "--set", "sigma=1"), 'unknown setting of standard "sigma"'),
        (("standard", "--device", "gpu"), "expected a device that torch has here"),
        (("standard", "--device", "meta"), "expected a device that torch has here"),
        (("standard", "--lr", "0"), "expected a learning rate above 0"),
        (("standard", "--lr", "1e300"), r"of at most 3\.4e\+38, float32's largest, got 1e\+300"),
        (("standard", "--input", ""), 'unknown input ""; expected one of clahe'),
        (
            ("gauss_single", "--set", "sigma=1", "--set", "sigma=2"),
            'expected --set sigma once, got it again: "sigma=2"',
        ),
        (
            ("patch_gaussian", "--set", "size=99999999999999999999"),
            'size as a whole number of at most 2,147,483,647, got "99999999999999999999"',
        ),
        (("standard", "--data", "nowhere"), "there is no file or folder nowhere"),
        (
            ("corrupted",),
            "corruption of cifar10_c to train with, got nothing; name one by `settings`",
        ),
    ],
)
def test_refusals_leave_nothing(run, arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        run(*arguments)
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--net", "wrn"), 'unknown net "wrn"'),
        (
            ("--net", "torch:wrn"),
            '"timm:NAME" or "zoo:NAME", got "torch:wrn"',
        ),
        (("--net", "torchvision:resnet5"), 'unknown torchvision model "resnet5"'),
        (("--net", "torchvision:resnet18", "--antialias", "3"), "antialias 3 for a net of our own"),
        (("--antialias", "9"), r"antialias as a filter of 1 \(none\) to 7 taps, got 9"),
        (("--antialias", "3", "--blur-after-conv"), "either antialias or blur_after_conv"),
        (("--init", "none.pt"), r"weights to start from, got none\.pt, which is no file"),
        (("--out", "set.npz"), r"expected a folder to train in, got the file set\.npz"),
        (("--stylised", "nowhere"), "there is no file or folder nowhere"),
    ],
)
def test_what_needs_no_images_is_checked_before_they_are_read(
    run, torchvision, arguments, message, monkeypatch
) -> None:
    def read(*arguments: object, **more: object) -> None:
        raise AssertionError("images were read")

    monkeypatch.setattr(data, "read_data", read)
    before = torch.get_rng_state()
    with pytest.raises(InputError, match=message):
        run("ant", *arguments)
    assert torch.equal(torch.get_rng_state(), before)
    assert not Path("out").exists()


def test_a_bar_for_each_restart_and_each_epoch_on_a_terminal_only(
    run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not by the runner, which brings its own stderr."""
    arguments = {"net": "narrow", "epochs": 1, "device": "cpu", "settings": ["restart_steps=2"]}
    train_model("set.npz", Path("piped"), "ant", **arguments)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    train_model("set.npz", Path("shown"), "ant", **arguments)
    err = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().err)
    assert "2/2 steps of a new generator for epoch 1 of 1" in err
    assert "1/1 steps of epoch 1 of 1" in err


def test_what_it_will_take_and_how_far_it_is(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the weights are those of a silent run."""
    few = ("standard", "--epochs", "3", "--batch", "24")
    assert len(run(*few, "--out", "silent")[1].splitlines()) == 4
    monkeypatch.setattr(progress, "PAUSE", 0)
    monkeypatch.setattr(Outlook, "TIMED", 0)
    _, whole, first, second, _, _, _ = run(*few)[1].splitlines()
    told = r": loss \d\.\d{4}, \d+ % right of 24 training images; about \d+ s left"
    assert re.fullmatch("epoch 1 of 3" + told, first)
    assert re.fullmatch("epoch 2 of 3" + told, second)
    assert re.fullmatch(r"training takes about \d+ s on this CPU, by its first steps", whole)
    weights = [load_file(f"{out}/model.safetensors") for out in ("silent", "out")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_one_estimate_early_and_none_that_contradicts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of 8 s after one of 10 s, three in an epoch, and 2 s of validation after each."""
    clock = 0.0
    monkeypatch.setattr(progress, "PAUSE", 5)
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    said: list[tuple[float, str]] = []
    outlook = Outlook(lambda line: said.append((clock, line)), 6, besides=" and without validation")
    for done in range(1, 7):
        clock += 10 if done == 1 else 8
        outlook.after_step(done, "cpu")
        if done % 3 == 0:
            clock += 2
            outlook.after_epoch(done, lambda: "epoch")
    told = "training takes about 50 s on this CPU, by its first steps and without validation"
    assert said == [(18, told), (28, "epoch; about 27 s left")]


def test_no_estimate_after_what_an_epoch_has_told(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr(progress, "PAUSE", 5)
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    said: list[str] = []
    outlook = Outlook(said.append, 600)
    for done in range(1, 5):
        clock += 0.25
        outlook.after_step(done, "cpu")
    clock += 6
    outlook.after_epoch(4, lambda: "epoch")
    outlook.after_step(5, "cpu")
    assert [line.partition(";")[0] for line in said] == ["epoch"]


def test_stopping_says_that_it_resumes(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop.Training, "run_epoch", stop)
    code, out = run("standard")
    assert code == 130
    assert "stopped; what is finished is kept, and the same command goes on after the last" in out


def test_a_trained_model_is_its_net_with_its_normalisation(tmp_path) -> None:
    run_training("standard", small_data(tmp_path), tmp_path / "out", replace(NARROW, epochs=1))
    model = load_model(f"hardy:{tmp_path / 'out'}")
    assert str(model.preprocessing) == "mean 0.5 0.5 0.5, std 0.5 0.5 0.5 (as it was trained)"
    net, _ = trained_net(tmp_path / "out")
    pixels = torch.from_numpy(IMAGES).permute(0, 3, 1, 2) / 127.5 - 1
    with torch.no_grad():
        wanted = net.eval()(pixels).numpy()
    np.testing.assert_allclose(model.logits(IMAGES), wanted, atol=1e-5)
    other = load_model(f"hardy:{tmp_path / 'out'}", preprocessing=Override(mean=(0, 0, 0)))
    assert other.identity != model.identity
    with pytest.raises(InputError, match="takes no checkpoint: its weights lie in the folder"):
        load_model(f"hardy:{tmp_path / 'out'}", checkpoint=tmp_path / "x.pt")


def test_evaluate_takes_it(tmp_path) -> None:
    data = small_data(tmp_path, side=32)
    run_training("standard", data, tmp_path / "out", replace(NARROW, epochs=1, antialias=3))
    with pytest.warns(UserWarning, match="was trained on these images"):
        run = evaluate(
            f"hardy:{tmp_path / 'out'}",
            suite="cifar10_c",
            images=str(tmp_path / "set.npz"),
            store=tmp_path / "runs",
            only=["brightness"],
            severities=[1],
            own_classes=True,
        )
    assert run.model == f"hardy:{tmp_path / 'out'}"
    first = run.stored.read([CLEAN], ["top5"])["top5"][:, 0, 0]
    np.testing.assert_array_equal(
        first, load_model(run.model).logits(data.images.numpy()).argmax(1)
    )


def test_what_is_no_finished_run_is_refused(tmp_path, monkeypatch) -> None:
    with pytest.raises(InputError, match=r"a folder that `hardy train` wrote, got .* no run\.json"):
        load_model(f"hardy:{tmp_path}")
    out, data = tmp_path / "out", small_data(tmp_path)
    run_training("standard", data, out, replace(NARROW, epochs=1))
    with pytest.raises(InputError, match=r"wrote, got the file .*run\.json; name its folder"):
        load_model(f"hardy:{out / 'run.json'}")
    weights = (out / "model.safetensors").read_bytes()
    (out / "model.safetensors").write_bytes(weights[:1000])
    with pytest.raises(InputError, match=r"model\.safetensors is no checkpoint that can be"):
        load_model(f"hardy:{out}")
    described = read_unsealed(out / "run.json")
    described["data"]["classes"] = 4
    (out / "run.json").write_text(json.dumps(described))
    (out / "model.safetensors").write_bytes(weights)
    with pytest.raises(InputError, match=r"does not fit the model: .* 2 misshapen \(head.weight"):
        load_model(f"hardy:{out}")
    (out / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"its training has not finished; run the same `hardy tr"):
        load_model(f"hardy:{out}")
