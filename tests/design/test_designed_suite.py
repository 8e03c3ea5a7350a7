"""A chosen set as a suite that runs."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

from hardy import evaluate
from hardy.design.designed_suite import suite_toml, write_suite
from hardy.errors import InputError
from hardy.scores.scoring import Run
from hardy.suites import load, text_of
from hardy.suites.cells import CLEAN
from tests.photos import photos


def test_it_runs_at_once(tmp_path) -> None:
    path = write_suite(tmp_path / "two.toml", "cifar10_c", ["fog", "saturate"], "chosen by hand")
    run = evaluate(
        "fake:10",
        suite=str(path),
        images=photos(32),
        labels=np.arange(8) % 10,
        store=tmp_path / "runs",
    )
    score = run.score()["mean error"]
    assert score.circumstances.names == ("fog", "saturate")
    assert score.circumstances.suite == "two"


def test_all_else_is_the_base_suites(tmp_path) -> None:
    base = load("imagenet_c")
    made = load(str(write_suite(tmp_path / "mine.toml", "imagenet_c", ["snow", "saturate"], "x")))
    assert made.counted == ("snow", "saturate")
    assert made.validation == ()
    for name in ("edition", "classes", "id_rule", "storage", "recipe", "recipe_description"):
        assert getattr(made, name) == getattr(base, name)
    assert base.reference is not None
    assert made.reference is not None
    assert made.reference.clean_error == base.reference.clean_error
    assert made.reference.source == base.reference.source
    assert made.reference.errors == {
        name: base.reference.errors[name] for name in ("snow", "saturate")
    }
    assert made.source == f"x; {base.source}"


def test_a_score_against_a_reference_is_kept_without_one(tmp_path) -> None:
    """Any run can be the reference: then the suite says which ratio stands first."""
    names = ["noc_border", "noc_translation"]
    path = str(write_suite(tmp_path / "two.toml", "cifar10_noc_23", names, "x"))
    assert load(path).reference is None

    def runs(model: str, labels: np.ndarray, store: str) -> Run:
        return evaluate(model, suite=path, images=photos(32), labels=labels, store=tmp_path / store)

    asked = runs("fake:10:1", np.zeros(8, int), "asked").stored
    right = asked.read([CLEAN], ["top5"])["top5"][:, 0, 0]  # so that corruptions can cost it some
    mine = runs("fake:10", right, "runs")
    assert [one.name for one in mine.score().headline] == ["mean error", "clean error"]
    against = mine.score(reference=runs("fake:10:1", right, "runs"))
    assert against.headline[0].name == "relative mCE"
    assert "mCE" not in against


def test_a_chosen_suite_can_be_chosen_from(tmp_path) -> None:
    first = write_suite(tmp_path / "first.toml", "cifar10_c", ["fog", "snow", "frost"], "x")
    second = write_suite(tmp_path / "second.toml", str(first), ["snow", "fog"], "y")
    assert load(str(second)).counted == ("snow", "fog")


def test_text_survives() -> None:
    odd = 'tabs\t, "quotes", \\, é, 🙂, \x7f and\nlines'
    data = tomllib.loads(suite_toml("cifar10_c", "mine", ["fog"], odd))
    assert data["source"].startswith(odd)


@pytest.mark.parametrize(
    ("target", "base", "names", "message"),
    [
        ("mine.toml", "cifar10_c", ["fogg"], 'unknown corruption of cifar10_c "fogg"; did you'),
        ("mine.toml", "cifar10_p", ["tilt"], "expected a suite of corruptions"),
        ("mine.toml", "cifar", ["fog"], 'unknown suite "cifar"'),
        ("mine.txt", "cifar10_c", ["fog"], "such as my_suite.toml, got"),
        ("My Suite.toml", "cifar10_c", ["fog"], "such as my_suite.toml, got"),
        ("cifar10_c.toml", "cifar10_c", ["fog"], "suite of Hardy's own"),
        ("no/mine.toml", "cifar10_c", ["fog"], "is not there; make it"),
    ],
)
def test_refused(tmp_path, target, base, names, message) -> None:
    with pytest.raises(InputError, match=message):
        write_suite(tmp_path / target, base, names, "x")
    assert list(tmp_path.iterdir()) == []


def test_only_what_it_wrote_is_written_over(tmp_path) -> None:
    mine = tmp_path / "mine.toml"
    for names in (["fog", "snow"], ["fog", "frost"]):
        write_suite(mine, "cifar10_c", names, "x")
    assert load(str(mine)).counted == ("fog", "frost")
    by_hand = text_of(load("cifar10_c")).replace('"cifar10_c"', '"pyproject"')
    for text in ("[project]\n", by_hand, ""):
        (tmp_path / "pyproject.toml").write_text(text)
        with pytest.raises(InputError, match="is no suite that `hardy design` wrote"):
            write_suite(tmp_path / "pyproject.toml", "cifar10_c", ["fog"], "x")
        assert (tmp_path / "pyproject.toml").read_text() == text


def test_the_base_is_not_written_over(tmp_path) -> None:
    mine = write_suite(tmp_path / "mine.toml", "cifar10_c", ["fog", "snow"], "x")
    (tmp_path / "link.toml").symlink_to(mine)
    for target in (mine, tmp_path / "." / "mine.toml", tmp_path / "link.toml"):
        with pytest.raises(InputError, match="it is the suite that is chosen from"):
            write_suite(target, str(mine), ["fog"], "y")
    assert load(str(mine)).counted == ("fog", "snow")


def test_nothing_is_written_into_a_run(tmp_path) -> None:
    (tmp_path / "run.json").touch()
    with pytest.raises(InputError, match="holds the predictions of a run"):
        write_suite(tmp_path / "mine.toml", "cifar10_c", ["fog"], "x")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        write_suite(tmp_path / "folder.toml", "cifar10_c", ["fog"], "x")
