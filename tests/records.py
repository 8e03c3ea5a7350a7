"""Records as somebody may change them who knows that they have a sum: without it."""

import json
from pathlib import Path
from typing import Any

from hardy.documents import SUM


def read_unsealed(path: Path) -> dict[str, Any]:
    """What a record says, without its sum."""
    content = json.loads(path.read_text())
    content.pop(SUM, None)
    return content
