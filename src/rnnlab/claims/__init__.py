"""The language of claims, and what the runs of a study say about each."""
