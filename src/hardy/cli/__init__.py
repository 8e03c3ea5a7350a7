"""The command line, one file for each group of commands: parse, call one public function, print.

Internal: it may change in any release.
"""

from hardy.cli.program import app, main

__all__ = ["app", "main"]
