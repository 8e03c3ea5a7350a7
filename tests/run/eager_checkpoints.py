"""`python -m tests.run.eager_checkpoints eval …` is `hardy eval …`, storing each result at once."""

from hardy import files
from hardy.cli import main

if __name__ == "__main__":
    files.CHECKPOINT_SECONDS = 0.0
    main()
