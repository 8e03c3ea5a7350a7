"""The command line, one file for each group of commands: parse, call one public function, print."""

from hardy.cli.program import app, main

__all__ = ["app", "main"]
