"""`hardy.train`: train a net by a method, into a folder that is then a model."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hardy.errors import InputError, need, warn_user
from hardy.execute import RayGroup
from hardy.places import on_disk
from hardy.progress import Track, untracked, watch


class TrainingResult(NamedTuple):
    """A finished training: `hardy:FOLDER` is its model."""

    folder: Path
    epochs: int  # of this call; 0 where the run was finished before
    # A row for each epoch: epoch, loss, lr, seconds, images_per_second, and with validation images
    # validation_accuracy.
    log: list[dict[str, float]]
    seen: list[str] | None  # the benchmarks' corruptions it was trained on; None: nobody says
    all_seen: bool  # False where nothing says what the weights of `init` had seen
    rank: int = 0  # of this process, of those that torchrun started
    net: str = ""


def train(
    method: str,
    *,
    data: str | Path,
    out: str | Path,
    net: str | None = None,
    epochs: int | None = None,
    lr: float | None = None,
    schedule: str = "cosine",
    batch: int | None = None,
    weight_decay: float = 5e-4,
    warmup: float = 0.0,
    label_smoothing: float = 0.0,
    mixup: float = 0.0,
    ema: float = 0.0,
    accumulate: int = 1,
    antialias: int = 1,
    blur_after_conv: bool = False,
    init: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    stylised: str | Path | None = None,
    validation: str | Path | None = None,
    labels: str | Path | None = None,
    hold_out: str | None = None,
    recipe: str | None = None,
    side: int | None = None,
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (3 / 4, 4 / 3),
    stream: bool | None = None,
    workers: int | None = None,
    most_unreadable: float = 0.001,
    input: str | None = None,
    device: str | None = None,
    on: str | None = None,
    processes: int | None = None,
    precision: str | None = None,
    deterministic: bool = False,
    seed: int = 0,
    say: Callable[[str], object] = lambda line: None,
    warn: Callable[[str], None] | None = None,
    track: Track = watch,
) -> TrainingResult:
    """Train a net by a method into the folder `out`; the same call resumes what was stopped.

    `hardy.names("methods")` and `hardy.names("nets")` list what there is; `settings` are those of
    the method, such as {"sigma": 0.2}. `data` are images with labels, as in `hardy.evaluate`;
    `stylised` ones take a fifth of each batch of ant; `validation` ones, which bring their labels,
    tell the accuracy after each epoch, and nothing is chosen by it. The learning rate rises for
    `warmup` epochs; targets are softened by `label_smoothing`, images mixed by `mixup`, the α of
    Beta(α, α); with `ema`, such as 0.999, the average of the weights is tested and written; a batch
    passes in `accumulate` parts, for which there is memory. Of icons (docs/icons50.md), `hold_out`
    says what is left out, to be tested on: "style:microsoft". Images are held in memory; with a
    `side` they are read while the net trains, and cut to it at random: areas within `scale`,
    aspects within `ratio`. So are those that take more than 4 GiB, or if `stream` is True: by as
    many threads as `workers` says, and at most a share of `most_unreadable` may be damaged, which
    unreadable.txt lists. `input` names a filter of `hardy.names("defences")` that all images pass,
    in tests too. The device and the precision are the best there are, if left out. `out` then has
    the weights, a log, and run.json, the record of the run. Processes that torchrun started share
    each batch; so do those that are started by `on` on the machines of a Ray cluster
    ("ray://HOST:PORT", "auto", or "ray" for one of its own), as many as `processes` says: the
    weights are the same.

    `init` is a file of weights to start from, or a model to fine-tune: "zoo:resnet50",
    "torchvision:NAME", "timm:NAME" or "hardy:DIR". Its net is then the net, with a new head if the
    number of classes differs; photographs are prepared for it, and `epochs`, `batch` and `lr`
    follow from the number of images where they are left out. Without such a model these are 100,
    128 and 0.1, and the net is wrn_40_2.

    ```python
    import hardy
    import numpy as np

    images = np.random.default_rng(0).integers(0, 256, (16, 8, 8, 3), np.uint8)
    np.savez("set.npz", images=images, labels=np.arange(16) % 2)
    trained = hardy.train("standard", data="set.npz", out="net", net="wrn_16_4", epochs=1)
    print(trained.log[-1]["loss"], trained.seen)
    ```
    """
    need("torch", "torch", "training")
    from hardy.models.adapters.torch_sources import find_device
    from hardy.models.model import Options
    from hardy.train.crops import ScaleCrop
    from hardy.train.hyperparameters import Hyperparameters, best_device
    from hardy.train.loop import run_training
    from hardy.train.method import make_method
    from hardy.train.nets import check_net
    from hardy.train.other_images import check_labelled, check_stylised
    from hardy.train.processes import joined
    from hardy.train.starts import Start, find_start, fine_tuning, usual_recipe
    from hardy.train.training_data import Streaming, open_data, read_data

    # What is wrong without a look at the images is said before they are read.
    asked = make_method(method, settings)
    check_stylised(asked, stylised)
    if validation is not None:
        check_labelled(validation, "validation")
    if hold_out is not None and (init is not None or labels is not None):
        raise InputError(
            "expected `hold_out` without `init` and `labels`: icons bring their classes, and "
            "nothing says which of them other weights have seen"
        )
    start = None if init is None else find_start(init)
    if isinstance(start, Start):
        if net is not None or antialias != 1 or blur_after_conv:
            raise InputError(
                f"expected neither `net` nor its options beside `init` {init}, whose net is "
                f"{start.net}; leave them out"
            )
        net, antialias, blur_after_conv = start.net, start.antialias, start.blur_after_conv
    net = net or "wrn_40_2"
    check_net(net, antialias, blur_after_conv)
    crop = None if side is None else ScaleCrop(side, scale, ratio)
    if crop is None and (scale, ratio) != (ScaleCrop.scale, ScaleCrop.ratio):
        raise InputError("expected `scale` and `ratio` with `side`, got them alone")
    streaming = Streaming(stream, crop, workers, most_unreadable)
    if crop is not None and recipe is not None:
        raise InputError(f"expected `side` or a `recipe`, which both cut images, got {recipe} too")
    out = on_disk(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"expected a folder to train in, got the file {out}; name another")
    if processes is not None and on is None:
        raise InputError("expected `processes` with `on`, got it alone; or start them by torchrun")
    kind, precision = best_device(device, precision)
    if on is not None:
        given = {
            "method": method,
            "data": str(data),
            "out": out,
            "epochs": epochs,
            "lr": lr,
            "schedule": schedule,
            "batch": batch,
            "weight_decay": weight_decay,
            "warmup": warmup,
            "label_smoothing": label_smoothing,
            "mixup": mixup,
            "ema": ema,
            "accumulate": accumulate,
            "init": None if init is None else str(init),
            "settings": settings,
            "stylised": stylised,
            "validation": validation,
            "labels": labels,
            "hold_out": hold_out,
            "recipe": recipe,
            "side": side,
            "scale": scale,
            "ratio": ratio,
            "stream": stream,
            "workers": workers,
            "most_unreadable": most_unreadable,
            "input": input,
            "precision": precision,
            "deterministic": deterministic,
            "seed": seed,
            "device": "cuda" if kind.startswith("cuda") else kind,
        }
        if not isinstance(start, Start):
            given |= {"net": net, "antialias": antialias, "blur_after_conv": blur_after_conv}
        return _train_together(given, on, processes, warn or warn_user)
    with joined(kind.partition(":")[0]) as ranks:
        where = find_device(Options("training", device=kind))
        said = {"epochs": epochs, "batch": batch, "lr": lr}
        paced: dict[str, Any] = {name: one for name, one in said.items() if one is not None}
        hyper = Hyperparameters(
            net=net,
            antialias=antialias,
            blur_after_conv=blur_after_conv,
            schedule=schedule,
            weight_decay=weight_decay,
            warmup=warmup,
            label_smoothing=label_smoothing,
            mixup=mixup,
            ema=ema,
            accumulate=accumulate,
            precision=precision,
            deterministic=deterministic,
            seed=seed,
            **paced,
        )
        track = track if ranks.first else untracked
        if recipe is None:
            recipe = usual_recipe(start, str(data), labels) if crop is None else "none@1"
        read = partial(open_data, device=where, recipe=recipe, input=input, track=track)
        images = read(str(data), streaming=streaming, labels=labels, hold_out=hold_out)
        others = None
        if stylised is not None:
            square = recipe if crop is None else crop.tested
            others = read_data(str(stylised), where, recipe=square, input=input, track=track)
        held_out = None
        if validation is not None:
            held_out = read(str(validation), streaming=streaming, part="test")
        if isinstance(start, Start):
            pace = fine_tuning(len(images), batch)._asdict()
            hyper = replace(hyper, **{name: pace[name] for name in pace if name not in paced})
        if ranks.first:
            say(images.said)
            if isinstance(start, Start):
                size = " x ".join(map(str, images.shape[1:]))
                say(
                    f"fine-tuning {init} at {size} pixels: {hyper.epochs} epochs in batches of "
                    f"{hyper.batch}, learning rate {hyper.lr:g}"
                )
        return run_training(
            method,
            images,
            out,
            hyper,
            settings=settings,
            init=start,
            stylised=others,
            validation=held_out,
            device=where,
            ranks=ranks,
            say=say if ranks.first else lambda line: None,
            track=track,
        )


def _train_together(
    given: Mapping[str, Any], on: str, processes: int | None, warn: Callable[[str], None]
) -> TrainingResult:
    """Have processes on a cluster call `train`."""
    group = RayGroup(on, processes, gpu=given["device"] == "cuda", warn=warn)
    found = group.run(partial(_begin_share, given), given["out"])
    return TrainingResult(**{**found, "folder": given["out"]})


def _begin_share(given: Mapping[str, Any]) -> Callable[[int], dict[str, Any]]:
    from hardy.train.processes import PeerGone
    from hardy.train.record import wait_until_free

    def work(rank: int) -> dict[str, Any]:
        if rank == 0:
            wait_until_free(given["out"])
        try:
            return train(**given, track=untracked)._asdict() | {"folder": None}
        except PeerGone as error:  # nothing that a person is to do: all begin anew
            raise RuntimeError(str(error)) from error

    return work
