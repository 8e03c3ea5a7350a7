"""`hardy.train`: train a net by a method, into a folder that is then a model."""

from collections.abc import Callable, Mapping, Sequence
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
    # A row for each epoch: epoch, loss, lr, seconds, images_per_second; where it was measured,
    # validation_accuracy too, and robust_error with its interval, robust_error_low and _high. With
    # `every` in minutes also one for each step within an epoch after which it was: its epoch is a
    # fraction, and it has the step.
    log: list[dict[str, float]]
    seen: list[str] | None  # the benchmarks' corruptions it was trained on; None: nobody says
    all_seen: bool  # False where nothing says what the weights of `init` had seen
    rank: int = 0  # of this process, of those that torchrun started
    net: str = ""
    method: str = ""


def train(
    method: str | None = None,
    *,
    data: str | Path,
    out: str | Path,
    like: str | None = None,
    net: str | None = None,
    epochs: int | None = None,
    lr: float | None = None,
    schedule: str | None = None,
    drops: Sequence[float] | None = None,
    batch: int | None = None,
    momentum: float | None = None,
    nesterov: bool | None = None,
    weight_decay: float | None = None,
    warmup: float | None = None,
    label_smoothing: float | None = None,
    mixup: float | None = None,
    mixup_each: bool = False,
    ema: float | None = None,
    accumulate: int | None = None,
    autoaugment: str | None = None,
    antialias: int = 1,
    blur_after_conv: bool = False,
    init: str | Path | None = None,
    teacher: str | None = None,
    teacher_weight: float = 1.0,
    settings: Mapping[str, object] | None = None,
    stylised: str | Path | None = None,
    validation: str | Path | None = None,
    robust: str | None = None,
    every: int | str = 1,
    labels: str | Path | None = None,
    hold_out: str | None = None,
    subset: int | None = None,
    recipe: str | None = None,
    side: int | None = None,
    scale: tuple[float, float] | None = None,
    ratio: tuple[float, float] | None = None,
    stream: bool | None = None,
    workers: int | None = None,
    most_unreadable: float = 0.001,
    decode: str = "threads",
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
    tell the accuracy after each epoch, and nothing is chosen by it; nor by `robust`, a suite whose
    corruptions they are shown under: a sample tells the mean error to ± 2 points. Both are measured
    after so many epochs as `every` says, or minutes ("30m"), and after the last epoch. `like`
    names a training of a paper, such as "rusak2020" (`hardy.names("trainings")`): its method, net,
    schedule and all else are those of this one where nothing else is said; the method "best" brings
    Hardy's own. The learning rate, by
    SGD of a `momentum` that is Nesterov's or not, follows a `schedule`: along a cosine, or in
    steps, to a tenth after each third of the epochs or after those in `drops`. It rises for
    `warmup` epochs; targets are softened by `label_smoothing`, images mixed by `mixup`, the α of
    Beta(α, α), which gives a share for each batch or, with `mixup_each`, for each image; with
    `ema`, such as 0.999, the average of the weights is tested and written; a batch passes in
    `accumulate` parts, for which there is memory. All images pass a policy of `autoaugment`,
    "cifar" or "imagenet". The answers of a `teacher`, a model such as "hardy:DIR", are learned
    beside the labels, and count `teacher_weight` times as much. `hold_out` says what is left out,
    to be tested on: "style:microsoft" of icons (docs/icons50.md), "superclass" of data sets whose
    classes are subtypes of broad types (docs/subtypes.md). A `subset` trains on so many images,
    the same each time, classes in proportion. Images are held in memory; with a `side`
    they are read while the net trains, and cut to it at random:
    areas within `scale`, aspects within `ratio`. So are those that take more than 4 GiB, or if
    `stream` is True: by as many threads as `workers` says, and at most a share of `most_unreadable`
    may be damaged, which unreadable.txt lists. Where `decode` is "both" a GPU decodes and cuts half
    of the JPEG files, by nvJPEG, where it is "gpu" all; on photographs 26 % of its bytes differed,
    by up to 49 levels. `input` names a filter of `hardy.names("defences")` that all images pass, in
    tests too. The device and the precision are the best there are, if left out. `out` then has the
    weights, a log, and run.json, the record of the run. Processes that torchrun started share each
    batch; so do those that are started by `on` on the machines of a Ray cluster ("ray://HOST:PORT",
    "auto", or "ray" for one of its own), as many as `processes` says: the weights are the same.

    `init` is a file of weights to start from, or a model to fine-tune: "zoo:resnet50",
    "torchvision:NAME", "timm:NAME" or "hardy:DIR". Its net is then the net, with a new head if the
    number of classes differs; photographs are prepared for it, and `epochs`, `batch` and `lr`
    follow from the number of images where they are left out. Without such a model, and without
    `like`, what is left out is AugMix's for CIFAR: wrn_40_2, 100 epochs, batches of 128, a learning
    rate of 0.1 along a cosine, a momentum of 0.9, Nesterov's, a weight decay of 5e-4.

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
    from hardy.train.crops import scale_crop
    from hardy.train.hyperparameters import HYPERPARAMETERS, Hyperparameters, best_device
    from hardy.train.loop import run_training
    from hardy.train.measuring import read_every
    from hardy.train.method import make_method
    from hardy.train.nets import check_net
    from hardy.train.other_images import check_labelled, check_stylised
    from hardy.train.processes import joined
    from hardy.train.published_trainings import choose_training, told_like
    from hardy.train.robust_errors import choose_robust
    from hardy.train.starts import Start, find_start, fine_tuning, usual_recipe
    from hardy.train.teacher import load_teacher
    from hardy.train.training_data import Streaming, open_data, read_data

    # What is wrong without a look at the images is said before they are read.
    asked: dict[str, Any] = {
        "net": net,
        "epochs": epochs,
        "lr": lr,
        "schedule": schedule,
        "drops": drops,
        "batch": batch,
        "momentum": momentum,
        "nesterov": nesterov,
        "weight_decay": weight_decay,
        "warmup": warmup,
        "label_smoothing": label_smoothing,
        "mixup": mixup,
        "mixup_each": mixup_each or None,
        "ema": ema,
        "accumulate": accumulate,
        "autoaugment": autoaugment,
        "recipe": recipe,
        "side": side,
        "scale": scale,
        "ratio": ratio,
        "stream": stream,
    }
    chosen = choose_training(like, method, settings, asked, init)
    method, settings, said = chosen.method, chosen.settings, chosen.options
    made = make_method(method, settings)
    check_stylised(made, stylised)
    if validation is not None:
        check_labelled(validation, "validation")
    if validation is None and str(every) != "1":
        raise InputError(f"expected `validation` images with `every` {every}, got it alone")
    if teacher is None and teacher_weight != 1.0:
        raise InputError(f"expected a `teacher` with `teacher_weight` {teacher_weight}, got none")
    robust_on, how_often = choose_robust(robust, validation, input), read_every(every)
    if hold_out is not None and (init is not None or labels is not None):
        raise InputError(
            "expected `hold_out` without `init` and `labels`: the images bring their classes, "
            "and nothing says which of them other weights have seen"
        )
    start = None if init is None else find_start(init)
    if isinstance(start, Start):
        if net is not None or antialias != 1 or blur_after_conv:
            raise InputError(
                f"expected neither `net` nor its options beside `init` {init}, whose net is "
                f"{start.net}; leave them out"
            )
        said["net"], antialias, blur_after_conv = start.net, start.antialias, start.blur_after_conv
    fixed = {name: said[name] for name in HYPERPARAMETERS if name in said}
    fixed |= {"antialias": antialias, "blur_after_conv": blur_after_conv}
    hyper = Hyperparameters(**fixed, deterministic=deterministic, seed=seed)
    check_net(hyper.net, antialias, blur_after_conv)
    sides = {name: tuple(said[name]) for name in ("scale", "ratio") if name in said}
    crop = scale_crop(said.get("side"), **sides)
    streaming = Streaming(stream, crop, workers, most_unreadable, decode)
    if crop is not None and recipe is not None:
        raise InputError(f"expected `side` or a `recipe`, which both cut images, got {recipe} too")
    out = on_disk(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"expected a folder to train in, got the file {out}; name another")
    if processes is not None and on is None:
        raise InputError("expected `processes` with `on`, got it alone; or start them by torchrun")
    kind, precision = best_device(device, precision)
    if on is not None:
        given = asked | {
            "method": method,
            "data": str(data),
            "out": out,
            "like": like,
            "antialias": antialias,
            "blur_after_conv": blur_after_conv,
            "init": None if init is None else str(init),
            "teacher": teacher,
            "teacher_weight": teacher_weight,
            "settings": settings,
            "stylised": stylised,
            "validation": validation,
            "robust": robust,
            "every": every,
            "labels": labels,
            "hold_out": hold_out,
            "subset": subset,
            "workers": workers,
            "most_unreadable": most_unreadable,
            "decode": decode,
            "input": input,
            "precision": precision,
            "deterministic": deterministic,
            "seed": seed,
            "device": "cuda" if kind.startswith("cuda") else kind,
        }
        if isinstance(start, Start):
            given |= {"antialias": 1, "blur_after_conv": False}
        return _train_together(given, on, processes, warn or warn_user)
    with joined(kind.partition(":")[0]) as ranks:
        where = find_device(Options("training", device=kind))
        hyper = replace(hyper, precision=precision)
        taught_by = None
        if teacher is not None:
            taught_by = load_teacher(teacher, teacher_weight, where, precision)
        track = track if ranks.first else untracked
        if recipe is None:
            recipe = usual_recipe(start, str(data), labels) if crop is None else "none@1"
        read = partial(open_data, device=where, recipe=recipe, input=input, track=track)
        which: dict[str, Any] = {"labels": labels, "hold_out": hold_out, "subset": subset}
        images = read(str(data), streaming=streaming, **which)
        others = None
        if stylised is not None:
            square = recipe if crop is None else crop.tested
            others = read_data(str(stylised), where, recipe=square, input=input, track=track)
        held_out = None
        if validation is not None:
            held_out = read(str(validation), streaming=streaming, part="test")
        if isinstance(start, Start):
            pace = fine_tuning(len(images), said.get("batch"))._asdict()
            hyper = replace(hyper, **{name: pace[name] for name in pace if name not in said})
        if ranks.first:
            say(images.said)
            if chosen.like is not None:
                say(told_like(chosen.like))
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
            like=chosen.like,
            init=start,
            stylised=others,
            validation=held_out,
            robust=robust_on,
            every=how_often,
            teacher=taught_by,
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
