"""The run directory and the bundle: written whole, checked when read."""
