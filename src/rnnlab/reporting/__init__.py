"""From run folders to reports."""
