"""Where work runs: in this process, or in several. Whoever has work receives an executor."""

from hardy.execute.executor import Executor, Processes, Serial, executor

__all__ = ["Executor", "Processes", "Serial", "executor"]
