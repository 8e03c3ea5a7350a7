"""Threads: for work that leaves the interpreter lock, whose results would be costly to copy."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from hardy.execute.executor import Results, Setup

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # items per worker


class Threads:
    """In this process, `workers` items at a time; results in the order of the items.

    They work a little ahead of the consumer, and never further.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Results[Result]:
        work = setup()
        queue: deque[Future[Result]] = deque()
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="hardy_work")
        try:
            remaining: Iterator[Item] = iter(items)
            queue.extend(
                pool.submit(work, item) for item in islice(remaining, self.workers * AHEAD)
            )
            while queue:
                result = queue.popleft().result()
                queue.extend(pool.submit(work, item) for item in islice(remaining, 1))
                yield result
        finally:
            # Also when the consumer stops early: nothing keeps working behind its back.
            pool.shutdown(wait=True, cancel_futures=True)
