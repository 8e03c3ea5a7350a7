"""Requests to stores at URLs, which fail now and then: made again, before that is an error.

Nothing that a store's library says is shown before it is cleaned of what may be a credential.
"""

import os
import random
import re
import time
from collections.abc import Callable
from typing import TypeVar

from hardy.errors import HardyError, told

Result = TypeVar("Result")

# How often a request is made, and how many seconds lie between the first two; then twice as many.
TRIES, FIRST_WAIT = 5, 0.5
# What no second try will change, in the words of the stores.
_LASTING = re.compile(
    "ACCESS_DENIED|NO_SUCH_BUCKET|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|EXPIRED_TOKEN|"
    "INVALID_CLIENT_TOKEN|PERMISSION_?DENIED|UNAUTHENTICATED|Unauthorized|Forbidden|"
    "HTTP status 403",
    re.IGNORECASE,
)
_GONE = re.compile("NO_SUCH_KEY|NOT_FOUND|HTTP status 404", re.IGNORECASE)
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")


class Unreachable(HardyError):
    """A store at a URL did not do what was asked of it, also after several tries."""


class Replaced(HardyError):
    """A file at a URL is no longer the one that was opened."""


def patiently(act: Callable[[], Result], path: object, doing: str = "read") -> Result:
    """What `act` returns. Stores fail now and then, and connections break: it is tried again, each
    time after a longer while, before that is an error."""
    for number in range(TRIES):
        try:
            return act()
        except FileNotFoundError:
            raise
        except OSError as error:
            if _GONE.search(str(error)):
                raise FileNotFoundError(2, "there is no such object", str(path)) from None
            if number == TRIES - 1 or _LASTING.search(str(error)):
                times = "" if _LASTING.search(str(error)) else f" {TRIES} times"
                # `from None`: nothing that a library says is shown before it is cleaned.
                raise Unreachable(
                    f"{path} could not be {doing}: the store refused or failed{times} "
                    f"({clean(told(error))}); see to the connection and to your rights there, then "
                    "run the same command again: what was finished is kept"
                ) from None
            time.sleep(FIRST_WAIT * 2**number * random.uniform(0.5, 1))
    raise AssertionError  # the last try returned or raised


def clean(text: str) -> str:
    """What a library says, without anything that may be a credential."""
    text = re.sub(r"(\w://)[^/\s@]*@", r"\1", text)
    text = re.sub(r"(\w://[^\s?'\"]*)\?[^\s'\"]*", r"\1", text)
    for name in _SECRETS:
        if secret := os.environ.get(name, ""):
            text = text.replace(secret, "***")
    return text
