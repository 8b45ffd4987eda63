"""Cells, the recurrent driver, encoders, pooling and baselines; an architecture is one file."""
