"""`hardy:DIR`: a model from a folder that `hardy train` wrote, a row of `hardy.models.MODELS`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from hardy import schema
from hardy.errors import InputError
from hardy.models.adapters.torch_sources import finish_model
from hardy.models.defences.input_filters import trained_behind
from hardy.models.model import AS_TRAINED, Model, ModelFacts, Options, Preprocessing, Trained
from hardy.models.weights import load_checkpoint
from hardy.train.net_settings import read_settings
from hardy.train.nets import make_net
from hardy.train.record import INIT_MODEL, check_run
from hardy.train.run_folder import ANEW, MODEL, RUN, read_run


def trained_model(rest: str, options: Options) -> Model:
    """A folder that `hardy train` wrote: the net, with the filter of its training. A net that can
    answer in several ways takes settings behind its folder: "hardy:DIR:exit=2"."""
    options.refuse(checkpoint="its weights lie in the folder")
    folder, settings = _with_settings(rest)
    if folder.is_file():
        raise InputError(
            f"expected a folder that `hardy train` wrote, got the file {folder}; name its folder"
        )
    net, run = trained_net(folder)
    if settings:
        net = _answering(net, settings, run["recipe"]["net"])
    figures = run["preprocessing"]
    mean, std = tuple(figures["mean"]), tuple(figures["std"])
    own = Preprocessing(mean, std, _own_side(run, folder / RUN, options.side), source=AS_TRAINED)
    seen, names = run["seen_corruptions"], run["data"]["names"]
    facts = ModelFacts(
        class_names=None if names is None else tuple(names),
        seen_corruptions=None if seen is None else tuple(seen),
        trained_as=trained_as(run),
        trained_on=run["data"]["images"],
        held_out=_held_out(run, folder),
    )
    model = finish_model(net, replace(options, checkpoint=None), own, facts)
    return trained_behind(model, run["input"]) if run["input"] else model


def _with_settings(rest: str) -> tuple[Path, str]:
    folder, _, settings = rest.rpartition(":")
    named = folder and "=" in settings and not Path(rest).exists()
    return (Path(folder), settings) if named else (Path(rest), "")


def _answering(net: nn.Module, settings: str, name: str) -> nn.Module:
    """The net as the settings of its method `answering` have it."""
    answering = getattr(net, "answering", None)
    if answering is None:
        raise InputError(
            f"expected no settings behind the folder, since {name} has one way to answer, got "
            f'"{settings}"; leave them out'
        )
    made: nn.Module = answering(**read_settings(settings, answering, f"a trained {name}"))
    return made


def trained_shape(run: Mapping[str, Any], path: Path) -> tuple[int, int, int]:
    """The shape of the images that a net was trained on."""
    shape = run["data"].get("shape")
    right = isinstance(shape, list) and len(shape) == 3 and all(map(schema.is_whole, shape))
    schema.expect(right, "three whole numbers as the shape", shape, f"{path}: data", ANEW)
    return tuple(shape)


def _own_side(run: Mapping[str, Any], path: Path, coming: int | None) -> int | None:
    """The side of the squares that a net was trained on; None where images come in that side
    anyway, but for a model with a name that was fine-tuned: its figures are told whole."""
    if INIT_MODEL not in run and (coming is None or "shape" not in run["data"]):
        return None
    _, height, width = trained_shape(run, path)
    if height != width or (height == coming and INIT_MODEL not in run):
        return None
    return height


def _held_out(run: Mapping[str, Any], folder: Path) -> str | None:
    """What the training left out of icons, if it was of icons."""
    held_out: str | None = run["data"].get("held_out")
    spelled = held_out is None or schema.TEXT.fits(held_out)
    where = f"{folder / RUN}: data"
    schema.expect(spelled, "what was held out, as text", held_out, where, ANEW)
    return held_out


def trained_net(folder: Path) -> tuple[nn.Module, dict[str, Any]]:
    """The finished net in a folder, and its `run.json`."""
    run = read_run(folder)
    if not (folder / MODEL).exists():
        raise InputError(
            f"{folder}: its training has not finished; run the same `hardy train` again, which "
            "resumes it"
        )
    check_run(run, folder / RUN)
    recipe = run["recipe"]
    classes = run["data"]["classes"]
    net = make_net(recipe["net"], classes, recipe["antialias"], recipe["blur_after_conv"])
    load_last(net, folder)
    return net, run


def load_last(net: nn.Module, folder: Path) -> None:
    """The weights of a finished run, or it is damaged, and says so."""
    todo = f"bring back the file, or {ANEW}"
    load_checkpoint(net, folder / MODEL, todo, unreadable=todo)


def trained_as(run: Mapping[str, Any]) -> Trained:
    """The net, and by what it was to become robust, for those who compare results. The filter of
    its input is no part of this but a defence; weights from a file have a history nobody knows."""
    recipe, method = run["recipe"], run.get("method")
    name = method.get("name") if isinstance(method, dict) else None
    if not isinstance(name, str) or run.get("init") is not None:
        return Trained(recipe["net"])
    more = {
        "stylised images": run.get("stylised") is not None,
        f"antialias {recipe['antialias']}": recipe["antialias"] > 1,
        "blur_after_conv": recipe["blur_after_conv"],
        "AutoAugment": recipe.get("autoaugment") is not None,
        "a teacher": run.get("teacher") is not None,
    }
    return Trained(recipe["net"], (name, *(one for one, used in more.items() if used)))
