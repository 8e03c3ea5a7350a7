"""Where work runs: here, in threads, in processes. Whoever has work receives an executor."""

from hardy.execute.executor import Executor, Processes, Serial, count_workers, executor, processors
from hardy.execute.threads import Threads

__all__ = ["Executor", "Processes", "Serial", "Threads", "count_workers", "executor", "processors"]
