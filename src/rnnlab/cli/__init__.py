"""One file per verb: parse, one call of the API, print."""
