"""`hardy.overlap`: which corruptions measure the same thing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from hardy.design.heat_map import draw_heat, heat_map
from hardy.design.results import OverlapResults, summarise, write_overlap
from hardy.errors import InputError, MissingResource, need, warn_user
from hardy.files import write_output
from hardy.places import on_disk
from hardy.progress import Track, watch
from hardy.run.device_places import share_on
from hardy.run.selection import Images
from hardy.train.published_trainings import TRAININGS, choose_training

_PICTURES = ("html", "png")
_METHOD = "corrupted"  # by which all nets are trained
_USUAL = {"net": "wrn_16_4", "epochs": 15, "batch": 128, "lr": 0.1}
# The similarity that agrees best with overlap so far; 0 to 1, 1 on the diagonal, as designs ask.
STAND_IN = "errors"


def overlap(
    out: str | Path,
    *,
    suite: str | None = None,
    data: str | Path | None = None,
    images: Images | None = None,
    only: str | Sequence[str] = "counted",
    like: str | None = None,
    net: str | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    lr: float | None = None,
    side: int | None = None,
    device: str | None = None,
    on: str | None = None,
    precision: str | None = None,
    proxy: bool = False,
    seed: int = 0,
    say: Callable[[str], object] = lambda line: None,
    warn: Callable[[str], None] | None = None,
    track: Track = watch,
) -> OverlapResults:
    """Measure how much corruptions overlap: train a net with each of them, and test it on all.

    One net is trained for each corruption of `suite` that `only` names, and a clean one, on `data`;
    all are tested on `images`, which may be left out for a data set that is known by its name. With
    `proxy` only the clean one is trained, which gives a stand-in for overlap. Nets are trained as
    `hardy.train` does, by default a wrn_16_4 for 15 epochs in batches of 128, at a learning rate of
    0.1; `like="noc-overlap"` has the published training, of ResNet-18s on photographs of 100
    classes, and its suite. With a `side` images are read while nets train, cut at random scales,
    and test images are cut out of the middle. The same call resumes. `on` shares the models among
    the machines of a Ray cluster, as in `hardy.evaluate`: one for each GPU or processor at a time.
    Without `suite` and `data`, the results that lie in `out` are computed and drawn again. `out`
    then has the accuracies, both published scores with intervals, and heat maps.

    ```python
    import hardy
    import numpy as np

    images = np.random.default_rng(0).integers(0, 256, (16, 8, 8, 3), np.uint8)
    np.savez("set.npz", images=images, labels=np.arange(16) % 2)
    found = hardy.overlap(
        "overlap",
        suite="cifar10_c",
        data="set.npz",
        images="set.npz",
        only=["contrast", "brightness"],
        epochs=1,
        proxy=True,
    )
    print(found.names, [path.name for path in found.written])
    ```
    """
    out = on_disk(out)
    if suite is None and data is not None and like is not None:
        own = TRAININGS[like].settings.get("suite")
        suite = None if own is None else str(own)
    if suite is not None and data is not None:
        need("torch", "torch", "training")
        from hardy.design.experiment import run_overlap
        from hardy.train.crops import ScaleCrop
        from hardy.train.hyperparameters import HYPERPARAMETERS, Hyperparameters, best_device

        sharing = None
        if on is not None:
            sharing = share_on(on, device=device, once=True, warn=warn or warn_user)
        device, precision = best_device(device, precision)
        asked = {"net": net, "epochs": epochs, "batch": batch, "lr": lr, "side": side}
        chosen = choose_training(like, _METHOD, None, asked)
        said: dict[str, Any] = chosen.options if like else {**_USUAL, **chosen.options}
        crop = None
        if "side" in said:
            parts = {name: tuple(said[name]) for name in ("scale", "ratio") if name in said}
            crop = ScaleCrop(said["side"], **parts)
        fixed = {name: said[name] for name in HYPERPARAMETERS if name in said}
        run_overlap(
            suite,
            str(data),
            out,
            Hyperparameters(**fixed, precision=precision, seed=seed),
            images=images,
            crop=crop,
            like=chosen.like,
            only=[only] if isinstance(only, str) else only,
            device=device if sharing is None else sharing.here or "auto",
            sharing=sharing,
            clean_only=proxy,
            say=say,
            track=track,
        )
    elif suite is not None or data is not None:
        raise InputError("expected both suite and data to train, or neither to draw again")
    results = summarise(out)
    written = write_overlap(results, out)
    drawn, undrawn = _draw(results, out)
    return replace(results, written=(*written, *drawn), undrawn=undrawn)


def _draw(results: OverlapResults, out: Path) -> tuple[list[Path], dict[str, str]]:
    """The heat maps, and why some could not be drawn: the numbers are written all the same."""
    experiment = results.experiment
    note = (
        f"{len(results.names)} corruptions of {experiment['suite']}, {experiment['recipe']['net']} "
        f"for {experiment['recipe']['epochs']} epochs"
    )
    heats = {
        f"overlap_{one.form}": heat_map(
            f"Overlap ({one.form})", note, one.names, one.values, one.doubtful
        )
        for one in results.overlaps
    }
    if not heats:
        values, title = results.similarities[STAND_IN], f"Similarity ({STAND_IN})"
        heats[f"similarity_{STAND_IN}"] = heat_map(title, note, results.names, values)
    drawn, undrawn = [], {}
    for name, form in product(heats, _PICTURES):
        path = out / f"{name}.{form}"
        try:
            write_output(path, draw_heat(heats[name], form))
            drawn.append(path)
        except MissingResource as error:
            undrawn[path.name] = str(error)
    return drawn, undrawn
