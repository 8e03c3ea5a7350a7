"""Models that Keras 3 saved. Keras is imported here when one is asked for: before, its back end
has to be chosen."""

import math
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from hardy.errors import InputError, MissingResource, door, need
from hardy.models.adapters.config_checks import check_claim
from hardy.models.adapters.keras_file import KerasContent, read_keras_file
from hardy.models.model import Model, ModelFacts, Options, Override, Preprocessing, digest
from hardy.models.normalisations import NORMALISATIONS

_BACKENDS = ("torch", "jax")
_BACKEND = "KERAS_BACKEND"  # the variable by which Keras is told
# Layers and operations that make pixels what the network wants.
_NORMALISING = ("Rescaling", "Normalization", "TrueDivide", "Divide", "Multiply", "Subtract", "Add")
_AS_FUNCTION = "load it in Python, and evaluate it as a function: hardy.evaluate(function, …)"
_SQUASHING = ("softmax", "sigmoid")
_WITHOUT_WEIGHTS = ("Softmax", "Activation")  # what may stand behind a classifier's last layer


class KerasIntake(NamedTuple):
    """How images go into a model, and what its outputs are."""

    side: int | None  # None: any
    channels_last: bool
    whole: bool  # its input is bytes
    logarithm: bool  # of its outputs, which are probabilities


def keras_model(rest: str, options: Options) -> Model:
    """A file of Keras 3, run by Keras on torch, or on JAX where KERAS_BACKEND says so."""
    options.refuse(
        checkpoint="the file holds its weights",
        compile="Keras decides itself what is compiled",
    )
    path = Path(rest)
    content = read_keras_file(path, trust=options.trust)
    keras = _imported(options.name)
    backend = keras.backend.backend()
    place: Any = None
    if backend == "torch":
        from hardy.models.adapters.torch_sources import find_device

        place = str(find_device(options))
    elif options.precision != Options.precision:
        options.refuse(precision="on JAX it computes as it was saved")
    model = _loaded(keras, path, content, options, place)
    head = None
    if options.backbone:
        model, head = _without_head(keras, model)
    intake = _look_at_input(model, path)
    logarithm, words = False, "its outputs are features"
    if not options.backbone:
        logarithm, words = _take_logits(keras, model)
    intake = intake._replace(logarithm=logarithm)
    preprocessing = options.prepared_as(_own(keras, model, intake, options))
    found = f"{type(model).__name__} of Keras, on {backend}; {words}"
    facts = ModelFacts(found=found, left_off=head, weights_hash=content.weights, backend=backend)
    made = _adapted(backend, model, intake, options, preprocessing, facts)
    made.identity = digest(
        "keras",
        {
            "config": content.config,
            "weights": content.weights,
            "preprocessing": preprocessing,
            "precision": options.precision,
            **({} if head is None else {"left off": head}),
        },
    )
    adapted: Model = made
    return adapted


def _adapted(
    backend: str,
    model: Any,
    intake: KerasIntake,
    options: Options,
    preprocessing: Preprocessing,
    facts: ModelFacts,
) -> Any:
    if backend == "torch":
        from hardy.models.adapters.keras_on_torch import as_torch_model

        return as_torch_model(model, intake, options, preprocessing, facts)
    from hardy.models.adapters.keras_on_jax import KerasOnJax

    return KerasOnJax(model, intake, options, preprocessing, facts)


def _imported(name: str) -> Any:
    """Keras, on a back end that Hardy knows; one that is imported already stays as it is."""
    if sys.modules.get("keras") is None:
        wanted = os.environ.get(_BACKEND) or _BACKENDS[0]
        _check_backend(wanted, name)
        if wanted == "jax" and find_spec("jax") is None:
            raise MissingResource(
                f"{name}: {_BACKEND} is jax, which is not installed: pip install jax, or unset it"
            )
        need(wanted, "keras", name)
        with _environment(_BACKEND, wanted):
            need("keras", "keras", name)
    keras = sys.modules["keras"]
    _check_backend(keras.backend.backend(), name)
    return keras


def _check_backend(backend: str, name: str) -> None:
    if backend not in _BACKENDS:
        raise InputError(
            f"{name}: expected Keras on torch or jax, got {backend}; set the environment variable "
            f"{_BACKEND}=torch before Keras is imported for the first time"
        )


@contextmanager
def _environment(variable: str, value: str) -> Iterator[None]:
    before = os.environ.get(variable)
    os.environ[variable] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before


def _loaded(keras: Any, path: Path, content: KerasContent, options: Options, place: Any) -> Any:
    todo = f"was it saved by a newer Keras than {keras.__version__}?"
    if content.foreign:
        todo = (
            f"it has classes that are not Keras' own ({', '.join(content.foreign[:3])}): "
            f"import what registers them and {_AS_FUNCTION}"
        )
    bounded = _bounded(keras, content.held, path)
    with door(path, todo), bounded, warnings.catch_warnings(action="ignore"):
        if place is None:
            return keras.saving.load_model(path, compile=False, safe_mode=not options.trust)
        with keras.device(place):
            return keras.saving.load_model(path, compile=False, safe_mode=not options.trust)


@contextmanager
def _bounded(keras: Any, held: int, path: Path) -> Iterator[None]:
    """Refuse weights before layers make them, where the file cannot hold them: Keras has no other
    way to know how many a config claims."""
    layer = keras.layers.Layer
    make, numbers = layer.add_weight, 0

    def counted(self: Any, *args: Any, **how: Any) -> Any:
        nonlocal numbers
        shape = how.get("shape", args[0] if args else ())
        numbers += math.prod(shape) if isinstance(shape, list | tuple) else 1
        check_claim(numbers, held, path)
        return make(self, *args, **how)

    layer.add_weight = counted
    try:
        yield
    except Exception:
        check_claim(numbers, held, path)  # in its own words: Keras wraps what is raised within
        raise
    finally:
        layer.add_weight = make


def _look_at_input(model: Any, path: Path) -> KerasIntake:
    shapes = [tuple(one.shape) for one in getattr(model, "inputs", None) or ()]
    results = [tuple(one.shape) for one in getattr(model, "outputs", None) or ()]
    if len(shapes) != 1 or len(shapes[0]) != 4 or 3 not in (shapes[0][1], shapes[0][3]):
        raise InputError(
            f"{path}: expected one input (N, H, W, 3) or (N, 3, H, W), got "
            f"{', '.join(map(str, shapes)) or 'a model that names none'}; {_AS_FUNCTION}"
        )
    if len(results) != 1 or len(results[0]) != 2 or results[0][1] in (None, 1):
        raise InputError(
            f"{path}: expected one output (N, classes), of two classes at least, got "
            f"{', '.join(map(str, results))}; {_AS_FUNCTION}"
        )
    last = shapes[0][3] == 3
    height, width = shapes[0][1:3] if last else shapes[0][2:]
    if height != width:
        raise InputError(
            f"{path}: expected an input of square images or of any size, got {shapes[0]}; "
            f"{_AS_FUNCTION}"
        )
    return KerasIntake(height, last, "int" in str(model.inputs[0].dtype), logarithm=False)


def _without_head(keras: Any, model: Any) -> tuple[Any, str | None]:
    """The model up to its last dense layer, and that layer's name; where it ends otherwise, the
    model as it is."""
    steps = [one for one in _steps(keras, model) if type(one).__name__ not in _WITHOUT_WEIGHTS]
    if not steps or not isinstance(steps[-1], keras.layers.Dense) or steps[-1] not in model.layers:
        return model, None
    return keras.Model(model.inputs, steps[-1].input), str(steps[-1].name)


def _take_logits(keras: Any, model: Any) -> tuple[bool, str]:
    """Whether logits are the logarithms of its outputs, and in words what they are. An activation
    of the last layer is taken off it, so that nothing is lost to rounding."""
    *_, last = _steps(keras, model)
    name = getattr(getattr(last, "activation", None), "__name__", "")
    if name in _SQUASHING and len(getattr(last, "_inbound_nodes", ())) < 2:
        last.activation = keras.activations.linear
        return False, f"its last {name} is left out, so that outputs are logits"
    if type(last).__name__ == "Softmax" or name == "softmax":
        return True, "it ends in a softmax, so that logits are the logarithms of its outputs"
    return False, "its outputs are taken as logits"


def _own(keras: Any, model: Any, intake: KerasIntake, options: Options) -> Preprocessing:
    """Bytes as they are where the model makes of them what it wants; else the file does not say."""
    inside = _normalising(keras, model)
    source = "the file's"
    if intake.whole:
        source = "0..255, as its input is bytes"
    elif inside:
        source = f"0..255, as its own {inside} prepares them"
    asked = options.preprocessing
    decided = isinstance(asked, Preprocessing) or (isinstance(asked, Override) and asked.normalises)
    if not (inside or intake.whole or decided):
        raise InputError(
            f"{options.name}: the file does not say how pixels are prepared, and no layer of it "
            'does that; say so: `preprocessing="caffe"` (as for Keras\' ResNet v1 and VGG), '
            '"tf" (MobileNet v1 and v2, Inception, Xception, ResNet v2), "torch" (DenseNet), '
            '"unit" (0..1) or "none" (0..255)'
        )
    mean, std, bgr = NORMALISATIONS["none"]
    return Preprocessing(mean, std, intake.side, source=source, exact=True, bgr=bgr)


def _normalising(keras: Any, model: Any) -> str:
    """The first step that prepares pixels, before any that has learnt something."""
    for step in _steps(keras, model):
        if type(step).__name__ in _NORMALISING:
            return type(step).__name__
        if getattr(step, "weights", ()):
            break
    return ""


def _steps(keras: Any, model: Any) -> Iterator[Any]:
    """Layers and operations in their order, those of nested models in their places."""
    flat = isinstance(model, keras.Sequential) or not hasattr(model, "operations")
    for step in model.layers if flat else model.operations:
        if isinstance(step, keras.Model):
            yield from _steps(keras, step)
        else:
            yield step
