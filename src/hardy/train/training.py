"""`hardy.train`: train a net by a method, into a folder that is then a model."""

from collections.abc import Callable, Mapping
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


def train(
    method: str,
    *,
    data: str | Path,
    out: str | Path,
    net: str = "wrn_40_2",
    epochs: int = 100,
    lr: float = 0.1,
    schedule: str = "cosine",
    batch: int = 128,
    weight_decay: float = 5e-4,
    antialias: int = 1,
    blur_after_conv: bool = False,
    init: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    stylised: str | Path | None = None,
    validation: str | Path | None = None,
    labels: str | Path | None = None,
    recipe: str = "none@1",
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
    tell the accuracy after each epoch, and nothing is chosen by it. `init` is a file of weights to
    start from. `input` names a filter of `hardy.names("defences")` that all images pass, in tests
    too. The device and the precision are the best there are, if left out. `out` then has the
    weights, a log, and run.json, the record of the run. Processes that torchrun started share each
    batch; so do those that are started by `on` on the machines of a Ray cluster ("ray://HOST:PORT",
    "auto", or "ray" for one of its own), as many as `processes` says: the weights are the same.

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
    from hardy.models.model import Options, existing
    from hardy.train.hyperparameters import Hyperparameters, best_device
    from hardy.train.loop import run_training
    from hardy.train.method import make_method
    from hardy.train.nets import check_net
    from hardy.train.processes import joined
    from hardy.train.training_data import check_labelled, check_stylised, read_data

    # What is wrong without a look at the images is said before they are read.
    asked = make_method(method, settings)
    check_stylised(asked, stylised)
    if validation is not None:
        check_labelled(validation, "validation")
    check_net(net, antialias, blur_after_conv)
    init = None if init is None else existing(Path(init), "weights to start from")
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
            "net": net,
            "epochs": epochs,
            "lr": lr,
            "schedule": schedule,
            "batch": batch,
            "weight_decay": weight_decay,
            "antialias": antialias,
            "blur_after_conv": blur_after_conv,
            "init": init,
            "settings": settings,
            "stylised": stylised,
            "validation": validation,
            "labels": labels,
            "recipe": recipe,
            "input": input,
            "precision": precision,
            "deterministic": deterministic,
            "seed": seed,
            "device": "cuda" if kind.startswith("cuda") else kind,
        }
        return _train_together(given, on, processes, warn or warn_user)
    with joined(kind.partition(":")[0]) as ranks:
        where = find_device(Options("training", device=kind))
        hyper = Hyperparameters(
            net=net,
            antialias=antialias,
            blur_after_conv=blur_after_conv,
            epochs=epochs,
            batch=batch,
            lr=lr,
            schedule=schedule,
            weight_decay=weight_decay,
            precision=precision,
            deterministic=deterministic,
            seed=seed,
        )
        track = track if ranks.first else untracked
        read = partial(read_data, device=where, recipe=recipe, input=input, track=track)
        images = read(str(data), labels=labels)
        others = None if stylised is None else read(str(stylised))
        held_out = None if validation is None else read(str(validation), part="test")
        if ranks.first:
            say(images.described)
        return run_training(
            method,
            images,
            out,
            hyper,
            settings=settings,
            init=init,
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
