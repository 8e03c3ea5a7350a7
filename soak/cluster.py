"""Kills drivers, actors and nodes of commands that share their work on a Ray cluster of this
machine: `python -m soak.cluster --seconds 300 --seed 1`, or `make soak-cluster`.

The result must be that of one process that nobody disturbed. A command whose driver was killed is
given again; one that lost an actor or a node must end by itself. The figures go to
build/soak-cluster.md.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import chdir, suppress
from pathlib import Path

from hardy.execute.ray_actor import make_actor_class
from soak.__main__ import write_figures
from soak.harness import FINE, Accepted, Tally, as_table, in_words
from soak.operations import Operation, build_command, eval_command
from soak.results import Results, check_whole, predictions, tree
from soak.surroundings import lay_images
from tests.cluster.conftest import Nodes

TARGET = Path("build/soak-cluster.md")
WAIT = 900.0  # seconds, after which a command is taken to wait for ever
_NODES = 2
# Ray's own agents are called ray::… too, and a node dies with either of them.
_ACTOR = f"ray::{make_actor_class().__name__}".encode()
_CELLS = ("--only", "contrast,jpeg_compression")

OPERATIONS: dict[str, Operation] = {
    "eval, on Ray": Operation((eval_command("many.npz", *_CELLS),), predictions()),
    "build, on Ray": Operation((build_command("jpeg", "folder", "1,2"),), tree("out")),
}


class Trials:
    """Commands on a cluster, and what they come to without one."""

    def __init__(self, home: Path) -> None:
        self.home, self.nodes = home, _cluster()
        self.known: dict[str, tuple[Results, float]] = {}

    def __call__(self, name: str, who: str, chance: random.Random) -> None:
        """One trial; `Accepted` where it failed."""
        if name not in self.known:
            self.known[name] = self._undisturbed(OPERATIONS[name])
        wanted, seconds = self.known[name]
        with self._folder() as folder:
            driver = self._start(OPERATIONS[name], folder)
            _wait_until(time.monotonic() + chance.uniform(0, seconds), driver)
            STRIKES[who](self, driver, chance)
            self._end(driver, folder, killed=who == "driver")
            if who == "driver":
                self._end(self._start(OPERATIONS[name], folder), folder)
            check_whole(_results(OPERATIONS[name], folder), wanted)

    def _undisturbed(self, operation: Operation) -> tuple[Results, float]:
        """What one process makes of it, and how long it takes on the cluster."""
        with self._folder() as folder:
            self._end(self._start(operation, folder, alone=True), folder)
            wanted = _results(operation, folder)
        with self._folder() as folder:
            began = time.monotonic()
            self._end(self._start(operation, folder), folder)
            check_whole(_results(operation, folder), wanted)
            return wanted, time.monotonic() - began

    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        made = tempfile.TemporaryDirectory(dir=self.home)
        lay_images(Path(made.name))
        return made

    def _start(
        self, operation: Operation, folder: str, *, alone: bool = False
    ) -> subprocess.Popen[bytes]:
        (command,) = operation.commands
        if not alone:
            at = command.index("--workers")
            command = (*command[:at], "--on", self.nodes.address, *command[at + 2 :])
        paths = os.pathsep.join(map(str, (Path.cwd(), Path.cwd() / "src")))
        with open(Path(folder, "told"), "wb") as told:
            return subprocess.Popen(
                [sys.executable, "-m", "soak.cluster_command", *command],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": paths},
                stdout=told,
                stderr=told,
            )

    def _end(self, driver: subprocess.Popen[bytes], folder: str, *, killed: bool = False) -> None:
        try:
            code = driver.wait(WAIT)
        except subprocess.TimeoutExpired:
            driver.kill()
            code = driver.wait()
            killed = False
        told = Path(folder, "told").read_text(errors="replace")
        if (code and not (killed and code == -signal.SIGKILL)) or "Traceback" in told:
            raise Accepted(f"ended with {code}:\n{told[-3000:]}")
        Path(folder, "told").unlink()

    def kill_driver(self, driver: subprocess.Popen[bytes], chance: random.Random) -> None:
        driver.kill()

    def kill_actor(self, driver: subprocess.Popen[bytes], chance: random.Random) -> None:
        """Any of its processes, once there is one, or the command has ended."""
        while driver.poll() is None:
            if found := _actors():
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(found), signal.SIGKILL)
                return
            time.sleep(0.02)

    def kill_node(self, driver: subprocess.Popen[bytes], chance: random.Random) -> None:
        self.nodes.remove()

    def renew(self) -> None:
        """Another cluster: Ray may take minutes to notice that a node is dead."""
        self.nodes.close()
        self.nodes = _cluster()


STRIKES: dict[str, Callable[[Trials, subprocess.Popen[bytes], random.Random], None]] = {
    "driver": Trials.kill_driver,
    "actor": Trials.kill_actor,
    "node": Trials.kill_node,
}


def _cluster() -> Nodes:
    nodes = Nodes()
    nodes.have(_NODES)
    return nodes


def _results(operation: Operation, folder: str) -> Results:
    with chdir(folder):
        return operation.results()


def _wait_until(moment: float, driver: subprocess.Popen[bytes]) -> None:
    while time.monotonic() < moment and driver.poll() is None:
        time.sleep(0.02)


def _actors() -> list[int]:
    """The processes of actors on this cluster, which has its nodes as children of this process."""
    parents, actors = {}, []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            rest = (place / "stat").read_text().rpartition(")")[2]
            parents[int(place.name)] = int(rest.split()[1])
            if (place / "cmdline").read_bytes().startswith(_ACTOR):
                actors.append(int(place.name))
    return sorted(pid for pid in actors if os.getpid() in _above(pid, parents))


def _above(pid: int, parents: dict[int, int]) -> list[int]:
    found = []
    while pid := parents.get(pid, 0):
        found.append(pid)
    return found


def run(seed: int, seconds: float, rounds: int | None = None) -> Tally:
    """Each kind of kill for each operation in turn, until the time is over."""
    tally, until = Tally(), time.monotonic() + seconds
    home = Path(tempfile.mkdtemp(prefix="hardy-soak-"))
    trials = Trials(home)
    try:
        number = 0
        while number != rounds:
            for who in STRIKES:
                for name in OPERATIONS:
                    if time.monotonic() > until:
                        return tally
                    outcome = FINE
                    try:
                        trials(name, who, random.Random(f"{seed} {number} {who} {name}"))
                    except Accepted as error:
                        outcome = f"accepted: {error}"
                    tally.add(f"{name}: {who}", (name, who, number), outcome)
                    if who == "node":
                        trials.renew()
            number += 1
        return tally
    finally:
        trials.nodes.close()
        shutil.rmtree(home, ignore_errors=True)


def rows(tally: Tally) -> list[tuple[str, ...]]:
    failed = Counter(case[0] for _, case, _ in tally.failures)
    trials = [
        (name, *(tally.cases[f"{name}: {who}"] for who in STRIKES), failed[name])
        for name in OPERATIONS
    ]
    return in_words(("operation", *(f"{who}s" for who in STRIKES), "failures"), trials)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    tally = run(given.seed, given.seconds)
    print(as_table(rows(tally)))
    for name, case, what in tally.failures:
        print(f"\n{name}, round {case[2]} of seed {given.seed}\n{what}")
    write_figures(TARGET, "soak-cluster", given.seconds, given.seed, [rows(tally)])
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
