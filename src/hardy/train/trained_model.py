"""`hardy:DIR`: a model from a folder that `hardy train` wrote, a row of `hardy.models.MODELS`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hardy.errors import InputError
from hardy.models.adapters.torch_sources import finish_model
from hardy.models.defences import trained_behind
from hardy.models.model import AS_TRAINED, Model, ModelFacts, Options, Preprocessing
from hardy.train.record import trained_as, trained_net


def trained_model(rest: str, options: Options) -> Model:
    """The net in the folder `rest`, behind the preprocessing and filter it learned with."""
    options.refuse(checkpoint="its weights lie in the folder")
    folder = Path(rest)
    if folder.is_file():
        raise InputError(
            f"expected a folder that `hardy train` wrote, got the file {folder}; name its folder"
        )
    net, run = trained_net(folder)
    figures = run["preprocessing"]
    own = Preprocessing(tuple(figures["mean"]), tuple(figures["std"]), source=AS_TRAINED)
    seen, names = run["seen_corruptions"], run["data"]["names"]
    facts = ModelFacts(
        class_names=None if names is None else tuple(names),
        seen_corruptions=None if seen is None else tuple(seen),
        trained_as=trained_as(run),
    )
    model = finish_model(net, replace(options, checkpoint=None), own, facts)
    return trained_behind(model, run["input"]) if run["input"] else model
