"""Values and keys as a TOML file writes them. Reading is Python's own; writing isn't."""

import json
import re
from typing import Any


def toml_value(value: Any) -> str:
    """A string, a number, a boolean, a list, or a table in one line. TOML has no null."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)  # the rest reads the same in both,
    return written.replace("\x7f", "\\u007f")  # save for this sign, which JSON lets pass


def toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)
