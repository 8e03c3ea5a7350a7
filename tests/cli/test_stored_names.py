"""Names of stored runs, as they are typed for `hardy eval` and `hardy compare`: files with the same
weights, files that are used again, and files that are called alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import hardy
from hardy.store import writer
from tests.scores.commands import lines_with, run
from tests.suites.helpers import write_rows

__all__ = ["run"]

NET = """
import torch

def make():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10))
"""


def test_a_gate_by_files_goes_on_where_weights_are_equal(run, tmp_path: Path) -> None:
    """Where an epoch has changed nothing, the stored run answers to the new file's name too."""
    write_rows(tmp_path, 40)
    (tmp_path / "net.py").write_text(NET)
    weights = {"1.weight": torch.ones(10, 3072), "1.bias": torch.arange(10.0)}
    few = ("--suite", "cifar10_c", "--images", "rows.npz", "--only", "contrast", "--severities", 1)
    models = [f"torch:net.py:make@epoch{number}.pt" for number in (1, 2)]
    for number in (1, 2):
        torch.save(weights, f"epoch{number}.pt")
        code, out, _ = run("eval", models[number - 1], *few, "--mean", "0.5", "--std", "0.5")
        assert code == 0
    line = "stored as torch:net.py:make @ epoch1.pt, which is the same model"
    assert f"{line}: its run answers to both names" in out
    assert len(list(Path("runs").iterdir())) == 1
    code, out, err = run("compare", "runs", *models, "--fail-on-regression")
    assert (code, err) == (0, "")
    assert "no significant regression" in out.splitlines()[-1]
    text = " ".join(out.split())
    for letter, model in zip("AB", models, strict=True):
        assert f"{letter}: {model}, stored as torch:net.py:make @ epoch1.pt @" in text
    assert "A and B are the same model, by its weights: there is no difference" in text
    assert f"{models[1]} is the same model as {models[0]}: there is no difference" in text
    assert "name another model" not in text
    (row,) = lines_with(out, "mean error ")
    assert row[-3:] == ["+0.0", "points", "1.000"]
    again = run("eval", "--models", models[1], *few, "--mean", "0.5", "--std", "0.5")
    assert again[0] == 0


def write_weights(path: str, first: float) -> str:
    """Weights of the net for which the class `first` is likelier, the lower it is; its name."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    bias = (torch.arange(10.0) - first).abs().neg()
    torch.save({"1.weight": torch.zeros(10, 3072), "1.bias": bias}, path)
    return f"torch:net.py:make@{path}"


@pytest.fixture
def few(run, tmp_path: Path) -> tuple[Any, ...]:
    """The arguments of `hardy eval` after the models: some images of two cells."""
    write_rows(tmp_path, 40)
    (tmp_path / "net.py").write_text(NET)
    named = ("--suite", "cifar10_c", "--images", "rows.npz", "--mean", "0.5", "--std", "0.5")
    return *named, "--only", "contrast", "--severities", 1


def the_runs(run, *models: str) -> tuple[str, str]:
    """The folders of the runs that two names mean."""
    code, out, err = run("compare", "runs", *models, "--format", "json")
    assert code == 0, err
    return json.loads(out)["first_run"], json.loads(out)["second_run"]


def test_names_are_taken_as_they_were_typed_for_eval(run, few, tmp_path: Path) -> None:
    base, bad = write_weights("ci/base.pt", 0), write_weights(f"{tmp_path}/ci/bad.pt", 5)
    assert run("eval", base, bad, *few)[0] == 0
    assert len(set(the_runs(run, base, bad))) == 2
    assert the_runs(run, base, base.replace("ci/", "./ci/"))[0] == the_runs(run, base, bad)[0]
    assert run("score", "runs", "--model", bad)[0] == 0
    # Another file of that name has a run of its own, and one that was not evaluated has none.
    other = write_weights("new/base.pt", 7)
    code, _, err = run("compare", "runs", base, other)
    assert (code, 'unknown model "torch:net.py:make@new/base.pt"' in err) == (2, True)
    assert run("eval", "--models", other, *few)[0] == 0
    first, second = the_runs(run, base, other)
    assert first != second
    code, _, err = run("compare", "runs", "torch:net.py:make@base.pt", bad)
    assert (code, "got 2; name one of the folders: " in err) == (2, True)
    assert first in err
    assert second in err


@pytest.mark.parametrize("many", [(), ("--models",)])
def test_a_file_that_is_used_again_means_its_new_weights(run, few, many: tuple[str, ...]) -> None:
    old = write_weights("w/old.pt", 0)
    for first in (0, 5):
        new = write_weights("w/new.pt", first)
        for model in (old, new):
            assert run("eval", *many, model, *few)[0] == 0
    assert len(set(the_runs(run, old, new))) == 2
    assert the_runs(run, "old.pt", "new.pt") == the_runs(run, old, new)
    write_weights("w/new.pt", 0)
    assert run("eval", *many, new, *few)[0] == 0
    assert len(set(the_runs(run, old, new))) == 1


@pytest.mark.parametrize("many", [False, True])
def test_files_of_one_call_that_are_the_same(run, few, many: bool) -> None:
    models = [write_weights(f"sw/{name}.pt", first) for name, first in (("a", 0), ("b", 0))]
    other = write_weights("sw/c.pt", 5)
    given = ("--models", "torch:net.py:make@sw/*.pt") if many else (*models, other)
    code, out, err = run("eval", *given, *few)
    assert (code, "same model: its run answers to both names" in out) == (0, True), err
    assert len(list(Path("runs").iterdir())) == 2
    assert len(set(the_runs(run, *models))) == 1
    assert len(set(the_runs(run, models[1], other))) == 2
    _, out, _ = run("compare", "runs", models[1], other)
    told = " ".join(out.split())
    assert f"A: {models[1]}, stored as torch:net.py:make @ a.pt @" in told
    assert f"torch:net.py:make @ c.pt and {models[1]} do not differ significantly" in told
    assert the_runs(run, "b.pt", "c.pt") == the_runs(run, models[1], other)


def files_in(store: str = "runs") -> list[Path]:
    return sorted(path for path in Path(store).rglob("*") if path.is_file())


def told_names(out: str) -> list[str]:
    """The names before the scores that `hardy eval` prints."""
    marked = [line.partition(": mean error ") for line in out.splitlines()]
    return [name.removeprefix("torch:net.py:make @ ") for name, found, _ in marked if found]


@pytest.mark.parametrize(
    ("files", "many"),
    [
        (("s/a.pt", "s/b.pt"), "torch:net.py:make@s/*.pt"),
        (("a/n.pt", "b/n.pt"), "torch:net.py:make@?/n.pt"),
        (("a/n.pt", "b/n.pt"), "named.txt"),
    ],
)
def test_the_same_call_again_adds_nothing(run, few, files: tuple[str, str], many: str) -> None:
    """Whatever tells the names of equal weights apart: their files, folders, or who typed them."""
    first, second = (write_weights(file, 0) for file in files)
    Path("named.txt").write_text(f"one = {first}\ntwo = {second}\n")
    names = {"a.pt": ("a.pt", "b.pt"), "n.pt": files}[Path(files[0]).name]
    names = ("one", "two") if many == "named.txt" else names
    written: list[Path] = []
    for _ in range(3):
        code, out, err = run("eval", "--models", many, *few)
        assert code == 0, err
        assert told_names(out)[0] == names[0]
        assert told_names(out)[1].startswith(f"{names[1]}, stored as ")
        assert told_names(out)[1].endswith(names[0])
        written = written or files_in()
        assert files_in() == written
    assert "same model" not in out


def test_each_number_stands_under_the_name_that_was_asked_for(run, few) -> None:
    models = [write_weights(f"{name}.pt", 0) for name in "ab"]
    _, out, _ = run("eval", *models, *few)
    assert told_names(out) == ["a.pt", "b.pt, stored as torch:net.py:make @ a.pt"]
    _, out, _ = run("eval", models[1], *few)
    assert told_names(out) == ["b.pt, stored as torch:net.py:make @ a.pt"]
    how: dict[str, Any] = {"suite": "cifar10_c", "images": "rows.npz", "only": "contrast"}
    how |= {"severities": 1, "preprocessing": hardy.models.Override((0.5,) * 3, (0.5,) * 3)}
    for found in (hardy.evaluate(models, **how), hardy.evaluate(models=models, **how)):
        a, b = (f"torch:net.py:make @ {name}.pt" for name in "ab")
        assert list(found.table()["model"]) == [a, b]
        assert list(found.table()["stored as"]) == [None, a]
        assert f"Run('{b}, stored as {a}', " in repr(found[1])
        assert f"{b}, stored as {a}" in found._repr_html_()
        assert found[1].score().as_dicts()[0]["model"] == b
        assert f"{b} is the same model as {a}" in str(hardy.compare(*found))
    assert "stored as" not in hardy.runs("runs").table()


def test_a_row_says_which_other_name_was_asked_for(run, few) -> None:
    a, b = (write_weights(f"w/{name}.pt", 0) for name in "ab")
    assert run("eval", a, b, *few)[0] == 0
    code, out, err = run("score", "runs", "--model", b, "--model", a)
    assert code == 0, err
    assert f"torch:net.py:make @ a.pt: {b} is the same model" in " ".join(out.split())
    assert f"{a} is the same model" not in " ".join(out.split())


def test_what_was_asked_for_once_is_loaded_once(run, few) -> None:
    counting = "with open('made.txt', 'a') as file:\n    file.write('once ')\n"
    Path("net.py").write_text(NET + counting)
    for name, first in (("a", 0), ("b", 0), ("c", 5), ("d", 0)):
        write_weights(f"w/{name}.pt", first)
    code, out, err = run("eval", "--models", "torch:net.py:make@w/*.pt", *few)
    assert code == 0, err
    stored = ", stored as torch:net.py:make @ a.pt"
    assert told_names(out) == ["a.pt", f"b.pt{stored}", "c.pt", f"d.pt{stored}"]
    assert "models 1-4 of 4" in out
    assert Path("made.txt").read_text().split() == ["once"] * 4


def test_names_are_saved_with_the_session(run, few, monkeypatch: pytest.MonkeyPatch) -> None:
    models = [write_weights(f"{name}.pt", 0) for name in "abc"]
    assert run("eval", *models, *few)[0] == 0
    saved: list[Path] = []
    write = writer.write_session

    def counted(path: Path, record: Any) -> None:
        saved.append(path)
        write(path, record)

    monkeypatch.setattr(writer, "write_session", counted)
    for names in ((), ("--name", "A", "--name", "B", "--name", "C")):
        saved.clear()
        assert run("eval", *models, *few, *names)[0] == 0
        assert len(saved) == 2, "one as the run is opened, one for the session with all names"


def test_files_called_alike_in_two_folders_are_no_successors(run, few) -> None:
    """A name without its folder means the file that lies here; where none does, none of them."""
    other, short = write_weights("x.pt", 0), write_weights("n.pt", 0)
    assert run("eval", other, short, *few)[0] == 0
    far = write_weights("far/n.pt", 5)
    assert run("eval", far, *few)[0] == 0
    assert len(set(the_runs(run, other, short))) == 1
    Path("n.pt").unlink()
    code, out, err = run("compare", "runs", other, short)
    assert (code, "got 2; name one of the folders: " in err) == (2, True), out
    assert len(set(the_runs(run, other, far))) == 2
    # It means one again when the other is gone.
    for folder in Path("runs").glob("*make-n.pt--*"):
        folder.rename(f"gone-{folder.name}")
    assert len(set(the_runs(run, other, short))) == 1


def test_a_name_that_is_given_twice_means_both_runs(run, few) -> None:
    """Or the last that it was given to, where the others have got another since."""
    old, new = write_weights("old.pt", 0), write_weights("new.pt", 5)
    assert run("eval", old, *few, "--name", "net")[0] == 0
    assert run("eval", new, *few, "--name", "net")[0] == 0
    code, _, err = run("compare", "runs", "net", "net")
    assert (code, "got 2; name one of the folders: " in err) == (2, True)
    _, out, _ = run("eval", old, *few, "--name", "before")
    assert "before: mean error " in out
    assert len(set(the_runs(run, "before", "net"))) == 2


def test_noise_is_learned_once_against_equal_models(run, few) -> None:
    models = [write_weights(f"{name}.pt", 0) for name in "ab"]
    noise = ("--attack", "ant", "--attack-steps", "2")
    images = few[: few.index("--only")]
    code, out, err = run("eval", *models, *images, *noise)
    assert code == 0, err
    assert "a.pt " in out
    assert "b.pt, stored as" in " ".join(out.split())
    assert len(list(Path("runs").rglob("attack-*.json"))) == 1


@pytest.mark.parametrize("many", [False, True])
def test_one_name_has_one_number(run, few, many: bool) -> None:
    """The second name of a model is no other model's, here of a file with another preprocessing."""
    a, b = (write_weights(f"{name}.pt", 0) for name in "ab")
    odd = '[[model]]\nmodel = "{}"\nmean = [0.1, 0.1, 0.1]\nstd = [1.0, 1.0, 1.0]\n'
    Path("odd.toml").write_text(odd.format(b))
    Path("all.txt").write_text(f"{a}\n{b}\nodd.toml\n")
    code, out, err = run("eval", *(("--models", "all.txt") if many else (a, b, "odd.toml")), *few)
    assert code == (1 if many else 2)
    assert 'got two called "torch:net.py:make @ b.pt"' in out + err
    assert len(list(Path("runs").glob("*/run.json"))) == many


def evaluate(run, few: tuple[Any, ...], *models: str, name: str | None = None) -> None:
    for model in models:
        assert run("eval", model, *few, *(("--name", name) if name else ()))[0] == 0


def test_a_file_is_told_from_one_that_is_called_alike_in_another_folder(run, few) -> None:
    """The one that lies where the name says is meant, though the other was evaluated later."""
    models = [write_weights(path, first) for path, first in (("old.pt", 0), ("x/b.pt", 5))]
    here = write_weights("b.pt", 0)
    evaluate(run, few, models[0], here, models[1])
    own, other = the_runs(run, here, models[1])
    assert own != other
    assert the_runs(run, models[0], here) == (own, own)


def test_a_file_that_was_not_evaluated_is_not_taken_for_its_namesake(run, few) -> None:
    evaluate(run, few, write_weights("x/b.pt", 5))
    code, _, err = run("score", "runs", "--model", write_weights("b.pt", 0))
    assert code == 2
    assert "whose file lies here, got one of a file that is called alike" in err
    Path("b.pt").unlink()  # then the name can mean but one
    assert run("score", "runs", "--model", "torch:net.py:make@b.pt")[0] == 0


def test_one_relative_path_means_the_file_in_the_current_folder(
    run, few, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for number, first in ((1, 0), (2, 5)):
        (tmp_path / f"p{number}").mkdir()
        monkeypatch.chdir(tmp_path / f"p{number}")
        write_rows(Path(), 40)
        Path("net.py").write_text(NET)
        evaluate(run, (*few, "--store", "../runs"), write_weights("w/m.pt", first))
    for number in (1, 2):
        monkeypatch.chdir(tmp_path / f"p{number}")
        code, out, _ = run("score", "../runs", "--model", "torch:net.py:make@w/m.pt")
        assert code == 0
        found.append(out)
    assert found[0] != found[1]


def test_a_file_that_is_used_again_under_a_given_name_means_its_new_weights(run, few) -> None:
    first = write_weights("w/a.pt", 0)
    evaluate(run, few, first)
    evaluate(run, few, write_weights("w/a.pt", 5), name="candidate")
    code, out, _ = run("score", "runs", "--model", first)
    assert code == 0
    assert lines_with(out, "candidate ")


def test_a_row_is_marked_whose_name_means_another_run_by_now(run, few) -> None:
    """As of a file that the best weights so far are copied to."""
    best, candidate = write_weights("best.pt", 0), write_weights("candidate.pt", 5)
    evaluate(run, few, best, candidate)
    evaluate(run, few, write_weights("best.pt", 5))
    old = "torch:net.py:make @ best.pt"
    code, out, _ = run("score", "runs", "--format", "csv")
    names = {row.partition(",")[0] for row in out.splitlines()[1:]}
    assert (code, old in names, len(names)) == (0, False, 2)
    assert any(name.startswith(f"{old} @") for name in names)
    assert f"{old} was evaluated again since, and means another run by now" in " ".join(
        run("score", "runs")[1].split()
    )
    assert run("report", "runs", "-o", "report.html")[0] == 0
    assert f"{old} @" in Path("report.html").read_text(encoding="utf-8")
