"""compare, train, sweep, judge, report, inspect, doctor: what the command line and notebooks call; one file each."""
