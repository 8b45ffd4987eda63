"""Corpora with a tag for every token: their files, and the schemes in which tags mark entities."""
