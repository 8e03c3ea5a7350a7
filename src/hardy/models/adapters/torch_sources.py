"""The kinds of model that are torch modules underneath. This file imports torch."""

import importlib
import inspect
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from hardy.errors import HardyError, InputError, MissingResource, need
from hardy.models import NET_LIBRARIES
from hardy.models.adapters.torch_model import TorchModel, check_weights, uncompiled
from hardy.models.model import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    NO_FACTS,
    ModelFacts,
    Options,
    Preprocessing,
)
from hardy.models.torch_identity import module_source
from hardy.models.weights import load_checkpoint

_WITH_SECOND_HEADS = ("googlenet", "inception_v3")


def torchvision_model(rest: str, options: Options) -> TorchModel:
    """A classifier of torchvision, with its default weights or those that .TAG names."""
    from torchvision import models

    name, _, tag = rest.partition(".")
    known = models.list_models(module=models)
    if name not in known:
        raise _unknown("torchvision model", name, known)
    choice = models.get_model_weights(name)
    if tag and tag not in choice.__members__:
        raise _unknown(f"weights of torchvision's {name}", tag, list(choice.__members__))
    weights = choice[tag] if tag else choice.DEFAULT
    recipe = weights.transforms()
    preprocessing = Preprocessing(
        tuple(recipe.mean),
        tuple(recipe.std),
        recipe.crop_size[0],
        recipe.interpolation.value,
        f"torchvision's {weights.name}",
    )
    if options.checkpoint is not None:
        return finish_model(models.get_model(name), options, preprocessing)
    with _fetching(options):
        module = models.get_model(name, weights=weights)
    stated = weights.meta["_metrics"].get("ImageNet-1K", {}).get("acc@1")
    facts = ModelFacts(known_accuracy=None if stated is None else stated / 100)
    return finish_model(module, options, preprocessing, facts)


def timm_model(rest: str, options: Options) -> TorchModel:
    """A classifier of timm, with the weights that its name means there."""
    timm = need("timm", "timm", "a model of timm")
    from timm.data import resolve_model_data_config

    if ":" not in rest and not timm.is_model(rest):
        raise _unknown("timm model", rest, timm.list_models())
    if options.checkpoint is not None:
        module = timm.create_model(rest)
    else:
        with _fetching(options):
            module = timm.create_model(rest, pretrained=True)
    config = resolve_model_data_config(module)
    tested = resolve_model_data_config(module, use_test_size=True)["input_size"]
    config["test_input_size"] = tested
    return finish_model(module, options, _from_config(config, "timm config", options))


def fresh_module(name: str, classes: int) -> torch.nn.Module:
    """A net to be trained, by "torchvision:resnet50", "timm:resnet50" or "zoo:resnet50", with
    random weights."""
    library, _, rest = name.partition(":")
    if library not in NET_LIBRARIES:
        known = " or ".join(f'"{one}:NAME"' for one in NET_LIBRARIES)
        raise InputError(f'expected a net as {known}, got "{name}"')
    if library == "zoo":
        from hardy.models.zoo.keeping import net_for

        return net_for(rest, classes)
    need(library, library, name)
    if library == "timm":
        import timm

        if not timm.is_model(rest):
            raise _unknown("timm model", rest, timm.list_models())
        return timm.create_model(rest, num_classes=classes)
    from torchvision import models

    known = models.list_models(module=models)
    if rest not in known:
        raise _unknown("torchvision model", rest, known)
    # Their second heads answer in training only, and with more than logits.
    plain = {"aux_logits": False, "init_weights": True} if rest in _WITH_SECOND_HEADS else {}
    return models.get_model(rest, num_classes=classes, **plain)


def factory_model(rest: str, options: Options) -> TorchModel:
    """A torch module that a function of yours returns; the current folder counts, module may be
    a FILE.py, and its code is run."""
    where, _, factory_name = rest.rpartition(":")
    if not where or not factory_name:
        raise InputError(
            'expected "torch:package.module:factory" or "torch:FILE.py:factory", got '
            f'"torch:{rest}"'
        )
    file = Path(where).resolve() if where.endswith(".py") else None
    if file is not None and not file.is_file():
        raise InputError(f"{options.name}: there is no file {where}")
    with _importing_from(os.getcwd() if file is None else str(file.parent)):
        imported = _imported(where, file, options)
        factory = _find_factory(imported, where, factory_name, options)
        try:
            module = factory()
        except (Exception, SystemExit) as error:
            raise HardyError(f"{options.name}: the factory raised {error!r}") from error
    if not isinstance(module, torch.nn.Module):
        raise InputError(
            f"{options.name}: expected the factory to return a torch.nn.Module, got "
            f"{type(module).__name__}"
        )
    source = module_source(imported.__name__)
    return finish_model(module, options, own_preprocessing(module, options), source=source)


def given_module(module: torch.nn.Module, options: Options) -> TorchModel:
    """A module that the user made and may go on using: it is neither moved nor changed."""
    options = replace(options, name=options.name or type(uncompiled(module)).__name__)
    options.refuse(
        checkpoint="load the weights into the module yourself",
        compile="compile it yourself: torch.compile(module)",
    )
    here = next((t.device for t in (*module.parameters(), *module.buffers())), torch.device("cpu"))
    if options.device != "auto" and find_device(options) != here:
        raise InputError(
            f"{options.name} lies on {here} and was asked to run on {options.device}; "
            f'move it yourself: module.to("{options.device}")'
        )
    preprocessing = options.prepared_as(own_preprocessing(uncompiled(module), options))
    idle = here.type == "cpu" and options.device == "auto" and torch.cuda.is_available()
    doubts = (_left_on_host(options.name),) if idle else ()
    return TorchModel(module, options, preprocessing, here, ModelFacts(doubts=doubts))


def _left_on_host(name: str) -> str:
    return (
        f"{name} lies on cpu and runs there, although there is a GPU, cuda:0 "
        f"({torch.cuda.get_device_name(0)}), which is often 100 times as fast: "
        'module.to("cuda"), or say `device="cpu"` if that is meant'
    )


def finish_model(
    module: torch.nn.Module,
    options: Options,
    preprocessing: Preprocessing,
    facts: ModelFacts = NO_FACTS,
    source: str = "",
) -> TorchModel:
    check_weights(module, options.name)
    if options.checkpoint is not None:
        load_checkpoint(
            module,
            options.checkpoint,
            "name the model it was saved from, or write a factory that makes it: "
            "torch:package.module:factory",
        )
    wanted = options.prepared_as(preprocessing)
    if wanted != preprocessing:
        preprocessing, facts = wanted, replace(facts, known_accuracy=None)
    device = find_device(options)
    for parameter in module.parameters():  # `requires_grad_` of the whole is not TorchScript's
        parameter.requires_grad_(False)
    module = module.to(device)
    if any(isinstance(part, torch.nn.Conv2d) for part in module.modules()):
        module = module.to(memory_format=torch.channels_last)
    if not options.compile:
        return TorchModel(module, options, preprocessing, device, facts, source)
    compiled: Any = torch.compile(module, dynamic=False)
    model = TorchModel(compiled, options, preprocessing, device, facts, source)
    model.begin_compiling(options.side)
    return model


def find_device(options: Options) -> torch.device:
    if options.device == "auto":
        options = replace(options, device="cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(options.device)
        torch.zeros(1, device=device).item()  # some kinds, as meta, have no numbers
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        without = options.device.startswith("cuda") and torch.version.cuda is None
        todo = "install a torch that is built for CUDA" if without else "name another"
        raise InputError(
            f"expected a device that torch has here, such as cpu or cuda:0, got "
            f"{options.device!r} ({str(error).partition(chr(10))[0]}); "
            f"{todo}, or leave `device` out"
        ) from error
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def own_preprocessing(module: torch.nn.Module, options: Options) -> Preprocessing:
    """Read it where timm keeps it, or from an attribute `preprocessing` of the same keys."""
    for attribute in ("preprocessing", "pretrained_cfg", "default_cfg"):
        config = getattr(module, attribute, None)
        if isinstance(config, Preprocessing):
            return config
        if isinstance(config, Mapping) and {"mean", "std"} <= config.keys():
            return _from_config(config, f"the module's {attribute}", options)
    return Preprocessing(
        IMAGENET_MEAN, IMAGENET_STD, source="ImageNet's, since the module has none of its own"
    )


def _from_config(config: Mapping[str, Any], source: str, options: Options) -> Preprocessing:
    size, tested = config.get("size", config.get("input_size")), config.get("test_input_size")
    # What timm validates with, unless images would have to be made larger than the suite's are.
    if tested and options.side and tested != size and max(tested[-2:]) <= options.side:
        size, source = tested, f"{source}, test size"
    if isinstance(size, Sequence):  # timm writes (3, 224, 224)
        if len({*size[-2:]}) != 1:
            raise InputError(
                f"{options.name} wants images of {tuple(size)}, which are not square; wrap it in a "
                "module that resizes: torch:package.module:factory"
            )
        size = size[-1]
    return Preprocessing(
        tuple(config["mean"]),
        tuple(config["std"]),
        size,
        config.get("interpolation") or "bilinear",
        source,
    )


def _imported(where: str, file: Path | None, options: Options) -> ModuleType:
    try:
        return importlib.import_module(where) if file is None else _run_file(file)
    except ImportError as error:
        place = f"{os.getcwd()} or what is installed" if file is None else str(file.parent)
        raise InputError(
            f"{options.name}: {where} cannot be imported from {place} ({error})"
        ) from error
    except (Exception, SystemExit) as error:
        raise HardyError(f"{options.name}: importing {where} raised {error!r}") from error


def _run_file(file: Path) -> ModuleType:
    # Under a name of its own: a file may be called torch.py, and another folder has its twin.
    name = f"{file.stem}_{zlib.crc32(os.fsencode(file)):08x}".replace(".", "_")
    loader = SourceFileLoader(name, str(file))
    spec = spec_from_loader(name, loader)
    assert spec is not None  # as for any loader that does not say it is a package
    module = sys.modules[name] = module_from_spec(spec)  # where pickle and inspect look for it
    loader.exec_module(module)
    return module


def _find_factory(module: ModuleType, where: str, name: str, options: Options) -> Callable[[], Any]:
    factory: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(factory):
        offered = [
            key
            for key, value in vars(module).items()
            if key[0] != "_" and getattr(value, "__module__", None) == module.__name__
            if inspect.isfunction(value)
            or (inspect.isclass(value) and issubclass(value, torch.nn.Module))
        ]
        known = f"it has {', '.join(sorted(offered)) or 'no function and no torch.nn.Module'}"
        raise _unknown(f"factory in {where}", name, offered, known)
    try:
        wanted = inspect.signature(factory).parameters.values()
    except (ValueError, TypeError):  # what is written in C may not say
        return factory
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    missing = [p.name for p in wanted if p.default is p.empty and p.kind not in optional]
    if missing:
        raise InputError(
            f"{options.name}: {name} needs arguments ({', '.join(missing)}), which have no "
            "default; write a function without any that calls it"
        )
    return factory


@contextmanager
def _importing_from(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def _fetching(options: Options) -> Iterator[None]:
    """Turn whatever a library raises while it fetches weights into one kind of error."""
    try:
        yield
    except Exception as error:
        raise MissingResource(
            f"{options.name}: its library could not make it with its own weights ({error!r}); "
            "without a network, bring the weights as a file by `checkpoint` (safetensors, or a "
            "state_dict saved by torch)"
        ) from error


def _unknown(kind: str, name: str, known: Sequence[str], listed: str = "") -> InputError:
    """Like `registry.unknown`, but only near names are shown: libraries know a thousand. What is
    `listed` is shown anyway."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3, cutoff=0.5)
    hints = [f"did you mean {' or '.join(near)}?"] if near else []
    if listed or not near:
        hints.append(listed or f"it has {len(known)} others")
    return InputError(f'unknown {kind} "{name}"; {" ".join(hints)}')
