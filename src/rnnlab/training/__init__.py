"""One loop: batches, optimiser, schedule, checkpoint, divergence, and the record of the answers."""
