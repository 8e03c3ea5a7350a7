"""What runs in an actor of Ray. The class is made within a function so that Ray sends its code: a
node where Hardy is missing, or another one, can then say so."""

from collections.abc import Callable
from typing import Any

# How a call ended: with a result, an error for people, another one, or before it could begin.
DID, SAID, FAILED, UNFIT = "did", "said", "failed", "unfit"
Outcome = tuple[str, str, Any]  # where it was, how it ended, and with what


def make_actor_class() -> type:
    """The class of workers; of Hardy its methods use only what they import themselves."""

    class Worker:
        def begin(self, parcel: bytes, version: str, folder: str, paths: list[str]) -> Outcome:
            """Set up by what the parcel holds. The driver's folder and paths count where they are
            there."""
            import os
            import pickle
            import platform
            import sys
            from importlib import import_module

            self.place = f"node {platform.node()}"
            sys.path += [path for path in paths if path not in sys.path and os.path.isdir(path)]
            expected = f"expected Hardy {version} there, as where the run was started"
            try:
                found = import_module("hardy").__version__
            except ImportError as error:
                found = f"none ({error})"
            if found != version:
                return self.place, UNFIT, f"{expected}, got {found}; install it on every node"
            if os.path.isdir(folder):
                os.chdir(folder)
            else:
                self.place += f" (which does not see the folder {folder})"

            os.environ.setdefault(*import_module("hardy.execute.executor").LARGE_PAGES)

            def begin() -> None:
                self.do: Callable[[Any], Any] = pickle.loads(parcel)()

            return self.attempt(begin)

        def work(self, item: Any) -> Outcome:
            return self.attempt(lambda: self.do(item))

        def attempt(self, do: Callable[[], Any]) -> Outcome:
            """Errors travel as what they say: not every exception can be sent."""
            from hardy.errors import HardyError, told

            try:
                return self.place, DID, do()
            except HardyError as error:
                return self.place, SAID, error
            except Exception as error:
                return self.place, FAILED, told(error)

    return Worker
