"""`hardy:DIR`: what `hardy train` left in a folder. This file imports torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hardy.models.model import Options, Preprocessing
from hardy.models.torch_load import finish_model
from hardy.models.torch_model import TorchModel
from hardy.train.run import trained_net


def trained_model(rest: str, options: Options) -> TorchModel:
    options.refuse(checkpoint="its weights lie in the folder")
    net, run = trained_net(Path(rest))
    figures = run["preprocessing"]
    own = Preprocessing(tuple(figures["mean"]), tuple(figures["std"]), source="as it was trained")
    return finish_model(net, replace(options, checkpoint=None), own)
