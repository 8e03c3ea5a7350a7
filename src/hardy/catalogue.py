"""What can be named: one table of the registries, which `hardy ls` and help texts read."""

from typing import Any, NamedTuple

from hardy.registry import Registry, Row

KINDS: Registry[Any] = Registry(
    "kind",
    rows={
        "corruptions": Row("hardy.corrupt:CORRUPTIONS", summary="Formulas that damage an image."),
        "perturbations": Row(
            "hardy.corrupt:PERTURBATIONS", summary="Formulas that make a sequence."
        ),
        "suites": Row(
            "hardy.suites:suite_names", summary="Benchmarks: corruptions, severities, references."
        ),
        "editions": Row(
            "hardy.suites:editions", summary="Constants of the corruptions, by image size."
        ),
        "methods": Row("hardy.train:METHODS", summary="Ways to train a net."),
        "nets": Row("hardy.train:NETS", summary="Architectures to train."),
        "models": Row("hardy.models:MODELS", summary="Kinds of model, as one types them."),
        "defences": Row("hardy.models.defences:DEFENCES", summary="Steps before a model."),
        "metrics": Row("hardy.metrics:METRICS", summary="Scores of stored predictions."),
        "readers": Row(
            "hardy.images.readers:READERS", summary="Kinds of image sets, and their paths."
        ),
        "figures": Row("hardy.report.figures:FIGURES", summary="Plots of reports and papers."),
        "recipes": Row(
            "hardy.images.recipes:RECIPES", summary="Ways to resize and crop photographs."
        ),
    },
)


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
        return Listed(name, "", f"WARNING: {fault}")
    return Listed(registry.form(name), registry.category(name), registry.summary(name))
