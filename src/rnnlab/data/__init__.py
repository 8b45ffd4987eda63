"""From files to flat arrays: formats, tokenisers, vocabulary, splits, profile, batches and their orders."""
