"""What the runs of a comparison or a sweep add up to, as plain data: scores, curves, differences, costs."""
