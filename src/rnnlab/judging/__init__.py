"""From scores per row to a verdict: intervals, chances, a recommendation. Works on any table; no torch."""
