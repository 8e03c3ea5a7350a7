"""`zoo:NAME`, the networks that `hardy fetch models` brings. This file imports torch."""

from dataclasses import replace

from hardy.errors import MissingResource
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.adapters.torch_sources import finish_model
from hardy.models.model import ModelFacts, Options, digest
from hardy.models.torch_identity import hash_weights
from hardy.models.weights import load_checkpoint
from hardy.models.zoo import ZOO
from hardy.models.zoo.keeping import blank_net, net_file


def zoo_model(rest: str, options: Options) -> TorchModel:
    """A network that `hardy fetch models` brings, of those that `hardy ls zoo` lists."""
    options.refuse(checkpoint="its weights are those that were fetched")
    net, file = ZOO[rest], net_file(rest)
    again = f"fetch it: hardy fetch models {rest}"
    if not file.is_file():
        raise MissingResource(f"zoo:{rest} is not here, {file} is missing; {again}")
    module = blank_net(net)
    load_checkpoint(module, file, again, unreadable=again)
    found = f"{net.title}, {net.parcel.package} of {net.parcel.registry}, licence {net.licence}"
    facts = ModelFacts(found=found, known_accuracy=net.stated)
    weights = hash_weights(module)
    model = finish_model(module, replace(options, checkpoint=None), net.preprocessing, facts)
    model.identity = digest(
        "zoo",
        {
            "network": [net.place, *net.scales],
            "weights": weights,
            "preprocessing": model.preprocessing,
            "precision": options.precision,
        },
    )
    return model
