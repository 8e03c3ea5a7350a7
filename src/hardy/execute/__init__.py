"""Where work runs: here, in threads, in processes. Whoever has work receives an executor."""

from hardy.execute.executor import (
    Executor,
    Processes,
    Serial,
    Threads,
    count_workers,
    executor,
    processors,
)

__all__ = ["Executor", "Processes", "Serial", "Threads", "count_workers", "executor", "processors"]
