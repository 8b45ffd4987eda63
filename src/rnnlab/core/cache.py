"""Where rnnlab keeps what it fetched: ``$RNNLAB_CACHE``, else the platform's folder for caches."""

import os
import sys
from pathlib import Path


def cache_dir() -> Path:
    """The cache folder; it need not exist yet."""
    if own := os.environ.get("RNNLAB_CACHE"):
        return Path(own).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "rnnlab" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rnnlab"
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if shared.is_absolute():  # the XDG specification: a relative path is to be ignored
        return shared / "rnnlab"
    return Path.home() / ".cache" / "rnnlab"
