"""The shapes of an answer. All that depends on the shape (head, loss, counts, scores, decoding, prediction, baselines)
lives here; no other room but `tasks` names one."""
