"""Models of one call that are the same: the first is evaluated, and answers to all names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from hardy.models import Model
from hardy.models.model_lists import WantedModel
from hardy.run.batching import mixed
from hardy.run.prepared import Evaluation
from hardy.run.runner import check_different, identify_run
from hardy.store.run_names import RunNames, TypedName, place_of


class ModelsTogether(NamedTuple):
    """An evaluation of all models that were asked for, each once."""

    evaluation: Evaluation
    names: tuple[str, ...]  # of those that were asked for
    places: tuple[int, ...]  # of these among the models of the evaluation


def load_together(
    basis: Evaluation, wanted: Sequence[WantedModel], loaders: Sequence[Callable[[], Model]]
) -> ModelsTogether:
    """Load all models; `basis` is the evaluation of none of them."""
    models = tuple(load() for load in loaders)
    subject, own_classes = basis.subject, basis.own_classes
    shown = mixed(models, subject.near(models))
    check_different(models, shown, own_classes=own_classes, sampled=basis.sampled is not None)
    run_hashes = [identify_run(one, shown, own_classes=own_classes).hash() for one in models]
    firsts = [run_hashes.index(each) for each in run_hashes]
    different = sorted(set(firsts))
    names: dict[str, RunNames] = {}
    for model, one, first in zip(models, wanted, firsts, strict=True):
        own, key = names_of(one, model.name), models[first].name
        names[key] = names[key].and_twin(own) if key in names else own
    each_once = tuple(models[place] for place in different)
    elsewhere = basis.elsewhere
    if elsewhere is not None:
        by_name = {model.name: load for model, load in zip(models, loaders, strict=True)}
        elsewhere = replace(elsewhere, loaders=by_name)
    evaluation = replace(
        basis,
        models=each_once,
        subject=mixed(each_once, subject.near(each_once)),
        names=names,
        elsewhere=elsewhere,
    )
    places = tuple(different.index(first) for first in firsts)
    return ModelsTogether(evaluation, tuple(model.name for model in models), places)


def names_of(wanted: WantedModel, shown: str) -> RunNames:
    """The names of the run of a model that was asked for so, and is shown by that name."""
    place = "" if wanted.checkpoint is None else place_of(wanted.checkpoint)
    typed = tuple(
        TypedName(name, "" if name == wanted.name else place) for name in wanted.typed(shown)
    )
    return RunNames(shown, wanted.name is not None, typed=typed)
