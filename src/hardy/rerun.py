"""A script that another process runs again, to know what the script defines."""

from multiprocessing import current_process


def refuse_in_rerun() -> None:
    """End a process that runs the caller's script again and comes to a call that would do the
    script's work anew: as Python itself ends one that would begin processes then."""
    if getattr(current_process(), "_inheriting", False):
        raise SystemExit(
            "error: a process runs this script again, to know what it defines, and came to the "
            'work itself; put the script\'s calls under `if __name__ == "__main__":`'
        )
