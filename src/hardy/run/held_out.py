"""Nets are tested on what they have not seen: a check before a run on what is held out."""

from hardy.errors import InputError
from hardy.models.model import ModelFacts
from hardy.schema import brief
from hardy.variants import Variants
from hardy.variants.shifted import Shifted


def check_held_out(facts: ModelFacts, variants: Variants, model: str) -> str | None:
    """Refuse a net that was trained on what it is tested on, by its record; a warning where there
    is none."""
    tested = variants.held_out if isinstance(variants, Shifted) else None
    if tested is None or facts.held_out == tested:
        return None
    if facts.trained_on is None:
        return (
            f"nothing says what {model} was trained on: its score means something only if it has "
            f"seen nothing of {brief(tested)}"
        )
    raise InputError(
        f"expected a net whose training held out {brief(tested)}, got {model}, whose training held "
        f"out {brief(facts.held_out or 'nothing')}; train one by `hold_out`, a probe by `suite`, "
        "or test this one on what it has not seen"
    )
