"""compare, train, sweep, judge, report, inspect: what the command line, notebooks and plugins call; one file each."""
