"""What can be named: one table of the registries, which `hardy ls` and help texts read."""

from typing import Any, NamedTuple

from hardy.registry import Registry, Row


def _row(place: str, summary: str) -> Row:
    return Row(f"hardy.{place}", summary=summary)


KINDS: Registry[Any] = Registry(
    "kind",
    rows={
        "corruptions": _row("corrupt:CORRUPTIONS", "Formulas that damage an image."),
        "perturbations": _row("corrupt:PERTURBATIONS", "Formulas that make a sequence."),
        "suites": _row("suites:suite_names", "Benchmarks: corruptions, severities, references."),
        "editions": _row("suites:editions", "Constants of the corruptions, by image size."),
        "methods": _row("train:METHODS", "Ways to train a net."),
        "trainings": _row(
            "train.published_trainings:TRAININGS", "Trainings of papers, as `hardy train --as`."
        ),
        "nets": _row("train:NETS", "Architectures to train."),
        "models": _row("models:MODELS", "Kinds of model, as one types them."),
        "zoo": _row("models.zoo:ZOO", "Classifiers that are fetched, typed as zoo:NAME."),
        "defences": _row("models.defences:DEFENCES", "Steps before a model."),
        "metrics": _row("metrics:METRICS", "Scores of stored predictions."),
        "readers": _row("images.readers:READERS", "Kinds of image sets, and their paths."),
        "figures": _row("report.figures:FIGURES", "Plots of reports and papers."),
        "recipes": _row("images.recipes:RECIPES", "Ways to resize and crop photographs."),
    },
)
WARNING = "WARNING: "  # before what is wrong with a plug-in, in place of a line about it


class Listed(NamedTuple):
    """One name of a kind, as `hardy.names` lists it."""

    name: str  # as one types it: "fog", "onnx:FILE"
    category: str  # "" where the kind has none
    summary: str


def names(kind: str | None = None) -> list[Listed]:
    """List what can be named, with a line about each: `hardy ls KIND`.

    Without a kind the kinds are listed: corruptions, suites, methods and so on. Plug-ins come
    after Hardy's own.

    ```python
    import hardy

    for name, category, summary in hardy.names("corruptions"):
        if category == "weather":
            print(name, summary)
    ```
    """
    if kind is None:
        return [_entry(KINDS, name) for name in KINDS]
    listed = KINDS[kind]
    if kind == "suites":
        from hardy.suites import load

        return [Listed(name, "", load(name).title) for name in listed()]
    if kind == "editions":
        from hardy.suites import edition

        sources = {name: edition(name).source for name in listed()}
        return [Listed(name, "", f"{one[0].upper()}{one[1:]}.") for name, one in sources.items()]
    return [_entry(listed, name) for name in _in_order(kind, listed)]


def _in_order(kind: str, registry: Registry[Any]) -> tuple[str, ...]:
    """The benchmark's own order, where the names come from one; else that of registration."""
    from hardy.corrupt.calls import corruptions, perturbations

    ordered = {"corruptions": corruptions, "perturbations": perturbations}
    return ordered.get(kind, registry.names)()


def _entry(registry: Registry[Any], name: str) -> Listed:
    if fault := registry.fault(name):  # it breaks only its own line
        return Listed(name, "", f"{WARNING}{fault}")
    return Listed(registry.form(name), registry.category(name), registry.summary(name))
