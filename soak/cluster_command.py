"""`python -m soak.cluster_command ARGUMENTS` is `hardy ARGUMENTS`, but that work comes in small
pieces, so that a small work has many."""

from __future__ import annotations

import sys

from hardy.run import subject
from hardy.variants.disk import build
from soak.operations import hardy

if __name__ == "__main__":
    subject.SMALL = 1  # images in a block
    build.ELSEWHERE = 1  # files of a load
    hardy(tuple(sys.argv[1:]))
