"""Settings, registry, errors, files, cache, random streams, words: what every room needs. No torch."""
