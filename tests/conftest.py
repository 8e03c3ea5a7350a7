"""What all tests need."""

from __future__ import annotations

import signal

# A shell that starts its jobs in the background has them ignore Ctrl-C, and so would all processes
# that the tests start in order to interrupt them.
signal.signal(signal.SIGINT, signal.default_int_handler)
