"""A plug-in of pytest: tests fail where a model is significantly worse than a baseline.

`pytest --hardy-baseline baseline.json --hardy-runs runs` adds a test per model and suite. Tests of
one's own hold a run against it by `hardy_baseline.check(run)`. Pytest imports this file whenever it
starts, so that nothing of Hardy is imported before one of the two is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hardy.scores.baseline import Baseline, Judgement
    from hardy.scores.run_scores import Scores
    from hardy.scores.scoring import Run
    from hardy.store.reader import StoredRun


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hardy", "robustness, by Hardy")
    group.addoption(
        "--hardy-baseline",
        metavar="PATH",
        help="Earlier runs: a store of `hardy eval`, or a file of `hardy score --format json`.",
    )
    group.addoption(
        "--hardy-runs",
        metavar="STORE",
        help="A store: each of its runs is a test, which fails if it is worse than the baseline.",
    )


@pytest.fixture(scope="session")
def hardy_baseline(pytestconfig: pytest.Config) -> BaselineGate:
    """Holds runs against `--hardy-baseline`; the test is skipped where none is named."""
    path = pytestconfig.getoption("--hardy-baseline")
    if path is None:
        pytest.skip("no baseline is named: pytest --hardy-baseline PATH")
    from hardy.scores.baseline import Baseline

    return BaselineGate(Baseline(path))


class BaselineGate:
    """What a test has of the baseline."""

    def __init__(self, baseline: Baseline) -> None:
        self.baseline = baseline

    def check(self, run: Run | Scores) -> Judgement:
        """Fail the test if the run is significantly worse than the baseline's of the same model on
        the same suite."""
        from hardy.scores.scoring import Run

        judged = self.baseline.judge(run.score() if isinstance(run, Run) else run)
        if judged.regressions:
            pytest.fail(str(judged), pytrace=False)
        return judged


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by -k
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    runs, path = config.getoption("--hardy-runs"), config.getoption("--hardy-baseline")
    if runs is None:
        if path is not None and _nothing_held(session, config, items):
            raise pytest.UsageError(
                "expected pytest --hardy-baseline PATH --hardy-runs STORE, got the former alone "
                "and no test that takes the fixture hardy_baseline; name the store whose runs are "
                "to be tests"
            )
        return
    from hardy.errors import HardyError

    if path is None:
        raise pytest.UsageError(
            "expected pytest --hardy-baseline PATH --hardy-runs STORE, got the latter alone"
        )
    try:
        items += _tests(session, path, runs)
    except HardyError as error:
        raise pytest.UsageError(str(error)) from None


def _nothing_held(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> bool:
    """Whether a baseline was typed that no test asks for: a gate that would let everything pass.
    In a project's settings it may wait for other tests than those that are run now."""
    typed = any(str(one).startswith("--hardy-baseline") for one in config.invocation_params.args)
    asked = any("hardy_baseline" in getattr(item, "fixturenames", ()) for item in items)
    return typed and not asked and not session.testsfailed  # of files that cannot be imported


def _tests(session: pytest.Session, path: str, runs: str) -> Iterator[pytest.Item]:
    """A test for each run, and for each of the baseline that there is no run of."""
    from hardy.scores.baseline import Baseline
    from hardy.scores.naming import readable_runs

    baseline = Baseline(path)
    found, faults = readable_runs(runs)
    group: Any = _BaselineTests.from_parent(session, name="hardy", nodeid="hardy")
    for run in found:
        yield group.test(baseline, run.model, run.suite, run, baseline.faults)
    there = {(run.model, run.suite) for run in found}
    for model, suite in baseline.held:
        if (model, suite) not in there:
            yield group.test(baseline, model, suite, None, faults)


class _BaselineTests(pytest.Collector):
    """Where the tests of a baseline stand in pytest's tree."""

    def collect(self) -> list[pytest.Item]:
        return []

    def test(
        self,
        baseline: Baseline,
        model: str,
        suite: str,
        run: StoredRun | None,
        faults: list[str],
    ) -> pytest.Item:
        made = _BaselineTest.from_parent(self, name=f"{model} on {suite}")
        made.baseline, made.held, made.run, made.faults = baseline, (model, suite), run, faults
        return made


class _BaselineTest(pytest.Item):
    """One run, held against the baseline: an error if that cannot be done."""

    baseline: Baseline
    held: tuple[str, str]
    run: StoredRun | None
    faults: list[str]

    def setup(self) -> None:
        from hardy.errors import HardyError
        from hardy.scores.run_scores import score_run

        unread = f" (unread: {'; '.join(self.faults)})" if self.faults else ""
        if self.run is None:
            reason = f"expected a run of {self.name}, as the baseline has, got none{unread}"
            pytest.fail(f"{reason}; evaluate it", pytrace=False)
        if self.held not in self.baseline.held:
            pytest.skip(f"{self.baseline.path} has no run of {self.name}{unread}")
        try:
            self.judged = self.baseline.judge(score_run(self.run))
        except HardyError as error:
            # Not from the error, which pytest would print as well.
            raise pytest.fail.Exception(str(error), pytrace=False) from None

    def runtest(self) -> None:
        if self.judged.regressions:
            pytest.fail(str(self.judged), pytrace=False)
        self.add_report_section("call", "hardy", str(self.judged))  # shown by -rP

    def reportinfo(self) -> tuple[str, int | None, str]:
        return str(self.baseline.path), None, f"hardy: {self.name}"
